# cmake -DOUT=FILE -DFILE=PATH -P embed_process.cmake: writes the program that plays shared objects as bytes of C (envs/own/isolated.c).
file(READ ${FILE} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "#include <stddef.h>\nextern const unsigned char mz_own_process[];\nextern const size_t mz_own_process_size;\nconst unsigned char mz_own_process[] = {${bytes}};\nconst size_t mz_own_process_size = sizeof mz_own_process;\n")
