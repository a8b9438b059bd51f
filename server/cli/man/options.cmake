# A manual page: its text, with the options as the program itself lists them: of one COMMAND in place
# of @OPTIONS@, or of each of COMMANDS (with commas between them) in place of @COMMANDS@.
#   cmake -D PROGRAM=quern -D COMMAND=serve -D TEXT=quern-serve.1.in -D PAGE=quern-serve.1 -P options.cmake
cmake_minimum_required(VERSION 3.25)
string(ASCII 1 mark)
set(of_all "--endpoint URL|--region REGION|--json  ") # told once, for all commands

function(read_help command ret_help)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env COLUMNS=10000 ${PROGRAM} ${command} --help all
                    OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
    set(${ret_help} "${help}" PARENT_SCOPE)
endfunction()

# One line for each option; what begins otherwise is no option.
function(list_options help ret_lines)
    string(REGEX REPLACE "\n          +" "  " help "\n${help}")
    string(REGEX REPLACE "\n  (-[^\n]+)" "\n${mark}\\1" help "${help}")
    string(REGEX REPLACE "\n[^${mark}\n][^\n]*" "" help "${help}")
    string(REGEX REPLACE "\n\n+" "\n" help "${help}")
    string(STRIP "${help}" help)
    set(${ret_lines} "${help}" PARENT_SCOPE)
endfunction()

# Two blanks part an option, with its value, from its help; a first blank parts it from its value.
function(set_options lines ret_text)
    string(REPLACE "\\" "\\e" lines "${lines}")
    string(REPLACE "-" "\\-" lines "${lines}")
    string(REGEX REPLACE "${mark}(([^ \n]| [^ \n])+)  +([^\n]+)" ".TP\n.B \\1\n\\3" lines "${lines}")
    string(REGEX REPLACE "\n\\.B ([^ \n]+) ([^\n]+)" "\n.BI \"\\1 \" \"\\2\"" lines "${lines}")
    set(${ret_text} "${lines}" PARENT_SCOPE)
endfunction()

# The usage as a heading, the options below it.
function(set_command command ret_text)
    read_help(${command} help)
    string(REGEX MATCH "^usage: ([^\n]+)" _ "${help}")
    string(REPLACE "-" "\\-" usage "${CMAKE_MATCH_1}")
    list_options("${help}" lines)
    string(REGEX REPLACE "${mark}(${of_all})[^\n]*\n?" "" lines "${lines}")
    set_options("${lines}" options)
    set(${ret_text} ".SS \"${usage}\"\n${options}\n" PARENT_SCOPE)
endfunction()

if(COMMAND)
    read_help(${COMMAND} help)
    list_options("${help}" lines)
    set_options("${lines}" options)
endif()
string(REPLACE "," ";" COMMANDS "${COMMANDS}")
foreach(command IN LISTS COMMANDS)
    set_command(${command} text)
    string(APPEND commands "${text}")
endforeach()

file(READ ${TEXT} page)
string(REPLACE "@OPTIONS@" "${options}" page "${page}")
string(REPLACE "@COMMANDS@\n" "${commands}" page "${page}")
file(WRITE ${PAGE} "${page}")
