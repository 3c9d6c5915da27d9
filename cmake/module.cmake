# A module is a folder and one static library. USES is its only way to link another module.
#
#   turnpike_module(NAME core USES base)
#   turnpike_module(NAME sim TARGET turnpike_sim_world USES base core LIBS fmt::fmt)
#
# The library is turnpike_<NAME>, or TARGET. Without SOURCES it takes every .cpp of the folder and of
# the folders in it, except main.cpp, which belongs to an executable. PRECOMPILED names its precompiled
# headers, if they are not the standard ones. USES is checked against tools/layers.txt; LIBS are
# third-party. A module without a .cpp is header-only.

set(TURNPIKE_LAYERS ${PROJECT_SOURCE_DIR}/tools/layers.txt)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TURNPIKE_LAYERS})

function(turnpike_check_layer module)
    file(STRINGS ${TURNPIKE_LAYERS} row REGEX "^${module} *:")
    if(NOT row)
        message(FATAL_ERROR "module '${module}' has no row in tools/layers.txt")
    endif()
    string(REGEX REPLACE "^[^:]*:([^:]*):.*$" "\\1" allowed "${row}")
    separate_arguments(allowed)
    foreach(used IN LISTS ARGN)
        if(NOT used IN_LIST allowed AND NOT "*" IN_LIST allowed)
            list(JOIN allowed " " allowed)
            message(FATAL_ERROR "'${module}' may not use '${used}', only: ${allowed} (tools/layers.txt)")
        endif()
    endforeach()
endfunction()

function(turnpike_module)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TARGET;PRECOMPILED" "SOURCES;USES;LIBS")
    if(NOT arg_NAME OR arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "turnpike_module: needs NAME, does not know '${arg_UNPARSED_ARGUMENTS}'")
    endif()
    turnpike_check_layer(${arg_NAME} ${arg_USES})
    if(NOT arg_TARGET)
        set(arg_TARGET turnpike_${arg_NAME})
    endif()
    if(NOT arg_PRECOMPILED)
        set(arg_PRECOMPILED turnpike_std_pch)
    endif()
    if(NOT arg_SOURCES)
        file(GLOB_RECURSE arg_SOURCES CONFIGURE_DEPENDS *.cpp)
        list(FILTER arg_SOURCES EXCLUDE REGEX "/main\\.cpp$")
    endif()

    set(scope PUBLIC)
    if(arg_SOURCES)
        add_library(${arg_TARGET} STATIC ${arg_SOURCES})
        turnpike_precompile(${arg_TARGET} ${arg_PRECOMPILED})
    else()
        set(scope INTERFACE)
        add_library(${arg_TARGET} INTERFACE)
    endif()
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH root)  # so that includes begin with the module's folder
    target_include_directories(${arg_TARGET} ${scope} ${root})
    list(TRANSFORM arg_USES PREPEND turnpike_)
    target_link_libraries(${arg_TARGET} ${scope} ${arg_USES} ${arg_LIBS})
endfunction()

# Compiling the standard headers takes over a second per source, so they are compiled once per build folder.
# Sources must still include what they use: headers_alone and the preset `clang` build without this.
function(turnpike_precompiled_headers target)
    if(TURNPIKE_PCH)
        file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp CONTENT "")
        add_library(${target} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)
        target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
endfunction()

function(turnpike_precompile target headers)
    if(TURNPIKE_PCH)
        target_precompile_headers(${target} REUSE_FROM ${headers})
    endif()
endfunction()
