# Writes OUTPUT, a C file with the bytes of the files INPUTS and the table that embedded.h declares:
# qn_embedded_TABLEs and qn_embedded_TABLE_count.
# An array needs an element even when there are no files, hence the row of zeros at the end.
list(SORT INPUTS)
set(arrays "")
set(rows "")
set(count 0)
foreach(input ${INPUTS})
    cmake_path(GET input STEM LAST_ONLY name)
    file(READ ${input} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const unsigned char data_${count}[] = {${bytes}};\n")
    string(APPEND rows
           "    {\"${name}\", (const char *)data_${count}, sizeof(data_${count})},\n")
    math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUTPUT}
     "#include \"chaos/embedded.h\"\n\n"
     "${arrays}\n"
     "const struct qn_embedded qn_embedded_${TABLE}s[] = {\n${rows}    {0, 0, 0},\n};\n"
     "const size_t qn_embedded_${TABLE}_count = ${count};\n")
