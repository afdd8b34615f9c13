#!/usr/bin/env bash
# Checks subjects of commits: "room: imperative subject", at most 72 characters, without a full stop.
# FILE: a message, as git hands it to the hook commit-msg. --new: the commits that this branch has and origin has not.
set -euo pipefail
export LC_ALL=C.UTF-8

readonly USAGE=64 # sysexits(3)
readonly MOST=72
readonly FORM='^[a-z][a-z0-9-]*(, [a-z][a-z0-9-]*)*(\([a-z0-9-]+\))?!?: [^ ]'
# Git writes these itself; the last two are gone before a branch lands.
readonly BY_GIT='^(Merge |Revert "|fixup! |squash! )'
# Usual verbs in another form: "adds", "added", "adding".
readonly OTHER_FORM=': (add|chang|check|clos|delet|drop|fix|improv|keep|mak|mov|nam|remov|renam|replac|rewrit|say|show|sort|stop|test|tell|updat|us|writ)(e?s|e?d|[a-z]?ing|[a-z]ed) '

# Says what is wrong with a subject.
fault() {
  local subject=$1
  [[ ! $subject =~ $BY_GIT ]] || return 0
  if [[ ! $subject =~ $FORM ]]; then
    echo 'it must begin with a room in small letters, a colon and a space, like "sync: ..."'
  elif ((${#subject} > MOST)); then
    echo "it has ${#subject} characters, $MOST are allowed: write the reason into the body"
  elif [[ $subject == *. ]]; then
    echo 'it ends with a full stop'
  elif [[ $subject =~ $OTHER_FORM ]]; then
    echo 'it must begin with an imperative: "add", not "adds", "added" or "adding"'
  fi
}

# Checks one subject. $1 names the commit.
check() {
  local reason
  reason=$(fault "$2")
  [[ -n $reason ]] || return 0
  echo "$1: $2" >&2
  echo "  $reason" >&2
  return 1
}

# The branch that the commits of this one will join; nothing where none is known.
find_base() {
  local name
  for name in origin/HEAD origin/main origin/master main; do
    if git rev-parse --quiet --verify "$name^{commit}" >/dev/null; then
      echo "$name"
      return 0
    fi
  done
}

# A shallow clone may lack the commit at which the branch began: then nobody can say what is new.
check_new() {
  local base rule commit code=0
  base=$(find_base)
  if [[ -z $base ]] || ! git merge-base "$base" HEAD >/dev/null; then
    echo 'commit subjects: nothing to compare with, so none is checked' >&2
    return 0
  fi
  # The rule holds from the commit that brought it.
  rule=$(git log --diff-filter=A --format='^%H' -- scripts/commit-subjects.sh)
  # shellcheck disable=SC2086
  for commit in $(git rev-list --no-merges HEAD "^$base" $rule); do
    check "${commit:0:8}" "$(git show --no-patch --format=%s "$commit")" || code=1
  done
  return "$code"
}

case ${1:-} in
  --new) check_new ;;
  '' | -*) echo "usage: scripts/commit-subjects.sh FILE | --new" >&2 && exit "$USAGE" ;;
  *) check 'commit subject' "$(grep --max-count=1 --invert-match '^#' "$1" || true)" ;;
esac
