# A manual page: its text, with the options as the program itself lists them.
#   cmake -D PROGRAM=quern -D COMMAND=serve -D TEXT=quern-serve.1.in -D PAGE=quern-serve.1 -P options.cmake
execute_process(COMMAND ${CMAKE_COMMAND} -E env COLUMNS=10000 ${PROGRAM} ${COMMAND} --help all
                OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)

# One line for each option; what begins otherwise is no option.
string(ASCII 1 mark)
string(REGEX REPLACE "\n          +" "  " help "\n${help}")
string(REGEX REPLACE "\n  (-[^\n]+)" "\n${mark}\\1" help "${help}")
string(REGEX REPLACE "\n[^${mark}\n][^\n]*" "" help "${help}")
string(REGEX REPLACE "\n\n+" "\n" help "${help}")
string(STRIP "${help}" help)

string(REPLACE "\\" "\\e" help "${help}")
string(REPLACE "-" "\\-" help "${help}")
# Two blanks part an option, with its value, from its help; a first blank parts it from its value.
string(REGEX REPLACE "${mark}(([^ \n]| [^ \n])+)  +([^\n]+)" ".TP\n.B \\1\n\\3" help "${help}")
string(REGEX REPLACE "\n\\.B ([^ \n]+) ([^\n]+)" "\n.BI \"\\1 \" \"\\2\"" help "${help}")

file(READ ${TEXT} page)
string(REPLACE "@OPTIONS@" "${help}" page "${page}")
file(WRITE ${PAGE} "${page}")
