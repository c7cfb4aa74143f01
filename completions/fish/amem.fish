function __amem_complete
    set -lx _AMEM_COMPLETE complete_fish
    set -lx COMP_WORDS (commandline -cp | string collect)
    set -l found (amem 2>/dev/null)
    # 4: the shell knows files better.
    if test $status -eq 4
        __fish_complete_path (commandline -ct)
        return
    end
    string join -- \n $found
end

complete --command amem --no-files --arguments "(__amem_complete)"
