# cmake -DOUT=FILE -DFILE=PATH -P embed.cmake: writes the file's bytes as a C array (pretrained_file.h).
file(READ ${FILE} hex HEX)
file(SIZE ${FILE} size)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE ${OUT} "#include \"allocator/predictors/pretrained_file.h\"\nconst unsigned char mz_pretrained_embedded[] = {${hex}};\nconst size_t mz_pretrained_embedded_size = ${size};\n")
