#!/bin/sh
# The command line with the account and its groups, the settings and the data directory of the service (tillgate.service). To install, as root:
#   install -m 755 tillgate.sh /usr/local/sbin/tillgate
# then for example
#   tillgate doctor
#   tillgate backup --to $(date +%F).db
# A file that a command writes is in /var/lib/tillgate-backup.
exec systemd-run --quiet --pipe --wait --collect \
  --property=DynamicUser=yes \
  --property=User=tillgate \
  --property="StateDirectory=tillgate tillgate-backup" \
  --property=StateDirectoryMode=0700 \
  --property=UMask=0077 \
  --property="SupplementaryGroups=$(systemctl show --property=SupplementaryGroups --value tillgate.service)" \
  --property=Environment=TILLGATE_DATA_DIR=/var/lib/tillgate \
  --property=EnvironmentFile=/etc/tillgate.env \
  --property=WorkingDirectory=/var/lib/tillgate-backup \
  /opt/tillgate/lib/node_modules/tillgate/node_modules/node/bin/node /opt/tillgate/lib/node_modules/tillgate/bin/tillgate.mjs "$@"
