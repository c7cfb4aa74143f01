#compdef amem

_amem_completion() {
  local found line
  local -a values shown
  found=$(_AMEM_COMPLETE=complete_zsh COMP_WORDS="${words[1,CURRENT-1]} $IPREFIX$QIPREFIX$PREFIX" \
    "$words[1]" 2>/dev/null)
  # 4: the shell knows files better.
  if (( $? == 4 )); then
    _files
    return
  fi
  for line in ${(f)found}; do
    values+=("${line%%$'\t'*}")
    shown+=("${line/$'\t'/  -- }")
  done
  # As the notes are named, also where case differs.
  compadd -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}' -l -d shown -a values
}

# zsh loads the file at the first completion, which has to be answered as well.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _amem_completion "$@"
else
  compdef _amem_completion amem
fi
