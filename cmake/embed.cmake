# turnpike_embed(OUTPUT ROOT FILES…) generates OUTPUT from cmake/sdk_files.cpp.in: a source that puts FILES
# (relative to ROOT) into the binary. The assembler reads the files, so a change of a file recompiles only OUTPUT.
function(turnpike_embed output root)
    set(sections "")
    set(names "")
    set(rows "")
    set(number 0)
    foreach(file IN LISTS ARGN)
        set(symbol turnpike_embedded_${number})
        string(APPEND sections "    .global ${symbol}, ${symbol}_end\n    .hidden ${symbol}, ${symbol}_end\n"
            "${symbol}:\n    .incbin \"${root}/${file}\"\n${symbol}_end:\n")
        string(APPEND names "extern const char ${symbol}[], ${symbol}_end[];\n")
        string(APPEND rows "        SdkFile{\"${file}\", {${symbol}, ${symbol}_end}},\n")
        math(EXPR number "${number} + 1")
    endforeach()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/sdk_files.cpp.in ${output} @ONLY)
    list(TRANSFORM ARGN PREPEND ${root}/ OUTPUT_VARIABLE paths)
    set_source_files_properties(${output} PROPERTIES OBJECT_DEPENDS "${paths}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
