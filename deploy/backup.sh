#!/bin/sh
# Backups of the PostgreSQL in compose.yaml, into its volume `backup`: the write-ahead log as it fills up, and a base backup a day, of which
# 14 are kept. How to restore: docs/operating.md, "Backup". The volume is on the same machine: copy it to another one.
set -eu
to=${BACKUP_DIR:-/backup}
kept=14

case $1 in
archive)
  # PostgreSQL calls it with the path and the name of a file, and keeps the file until this ends with 0.
  cmp -s "$2" "$to/wal/$3" && exit 0
  test ! -e "$to/wal/$3"
  cp "$2" "$to/wal/$3.part"
  sync "$to/wal/$3.part"
  mv "$to/wal/$3.part" "$to/wal/$3"
  sync "$to/wal"
  ;;
base)
  psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --command="do 'begin
    if not exists (select from pg_roles where rolname = ''backup'') then create role backup login replication; end if;
  end'"
  rm -rf "$to/base.part"
  pg_basebackup --username=backup --pgdata="$to/base.part" --wal-method=stream --checkpoint=fast
  mv "$to/base.part" "$to/base-$(date -u +%Y%m%dT%H%M%SZ)"
  sync "$to"
  ls -d "$to"/base-* | sort -r | tail -n "+$((kept + 1))" | xargs -r rm -rf
  oldest=$(ls -d "$to"/base-* | sort | head -n 1)
  # Nothing before its first file of the log is needed any more.
  pg_archivecleanup "$to/wal" "$(sed -n 's/^START WAL LOCATION: .* (file \([0-9A-F]*\))$/\1/p' "$oldest/backup_label")"
  ;;
daily)
  while :; do
    if sh "$0" base; then sleep 86400; else
      echo 'The base backup failed; it is tried again in ten minutes.' >&2
      sleep 600
    fi
  done
  ;;
esac
