# cmake -DOUT=FILE "-DFILES=PATH;PATH…" -P embed.cmake: writes the parts of the workers' script, one behind the other, as bytes of C
# (mz_worker_python in envs/worker/process.h).
set(bytes "")
foreach(file ${FILES})
  file(READ ${file} hex HEX)
  string(APPEND bytes "${hex}0a0a")
endforeach()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "#include \"envs/worker/process.h\"\nstatic const unsigned char script[] = {${bytes}};\nconst mz_worker_program mz_worker_python = {.bytes = script, .size = sizeof script};\n")
