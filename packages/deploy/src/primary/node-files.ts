/**
 * The files that make a machine a primary: units of systemd and the scripts that they start. They travel in the server's
 * artefact, so its hash covers them, and what a machine is told at its start (`user-data.ts`) stays short.
 *
 *   radical-lvi-server      the server; the same unit as for a server that the developer hosts, with one drop-in
 *   radical-tunnel          cloudflared, the machine's only way in
 *   radical-parameters      each minute: keys and the tunnel's token, as the account has them
 *   radical-watch           every ten seconds: a leader that can't be reached, or a silent server, is started again; a line of log a minute
 */
import { ALLOCATOR_ENVIRONMENT, dockerfile, imageFiles } from "../image/image-files.ts";
import { CLOUDFLARED } from "./cloudflared.ts";
import { MACHINE_ROOM_MB } from "./machine-memory.ts";
import { SERVER_HOST, SERVER_PORT } from "./names.ts";
import { SERVER_VARIABLES } from "./server-variables.ts";

/** In the artefact, and where it is unpacked: /opt/radical. */
export type FileTexts = Readonly<Record<string, string>>;

export const INSTALLED_AT = "/opt/radical";

/** The tunnel's own health, on the loopback interface. */
export const TUNNEL_METRICS = "127.0.0.1:20241";

const SERVER_UNIT = "radical-lvi-server";

const ALLOCATOR = Object.entries(ALLOCATOR_ENVIRONMENT)
  .map(([name, value]) => `${name}=${value}`)
  .join(" ");

/** Takes from the server and the tunnel all that neither of them needs. */
const SANDBOX = `NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM`;

/**
 * The unit of the server, for any Linux with systemd 247 or later. It expects the artefact in /opt/radical, Node 24 as
 * /usr/bin/node, and its settings in /etc/radical/server.env.
 */
function serverUnit(): string {
  return `[Unit]
Description=Radical LVI server, the primary of an application
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=exec
# No signal opens a debugger, and no report has the environment, in which the keys may be.
ExecStart=/usr/bin/node --disable-sigusr1 --report-exclude-env ${INSTALLED_AT}/dist/main.js
EnvironmentFile=/etc/radical/server.env
Environment=NODE_ENV=production ${ALLOCATOR}
Restart=always
RestartSec=1
# It drains: refuses new executions and lets those under way end.
KillSignal=SIGTERM
KillMode=mixed
TimeoutStopSec=30
LimitNOFILE=65536
# A core would hold the keys, and what is being served.
LimitCORE=0

DynamicUser=yes
SupplementaryGroups=radical
StateDirectory=radical
WorkingDirectory=%S/radical
UMask=0077
${SANDBOX}

[Install]
WantedBy=multi-user.target
`;
}

/** What the unit of the server has besides on a machine of the stack. */
function serverDropIn(): string {
  return `[Unit]
# Stopping goes the other way round: the server drains while the tunnel is still there.
After=radical-tunnel.service radical-parameters.service
Wants=radical-parameters.service

[Service]
StandardOutput=append:/var/log/radical/server.log
StandardError=append:/var/log/radical/server.log
ExecStopPost=+${INSTALLED_AT}/node/ended.sh
`;
}

function tunnelUnit(): string {
  return `[Unit]
Description=Cloudflare Tunnel: the way from locations to the LVI server
Wants=network-online.target radical-parameters.service
After=network-online.target radical-parameters.service
StartLimitIntervalSec=0

[Service]
Type=exec
# Workers VPC needs QUIC.
ExecStart=/usr/local/bin/cloudflared tunnel --no-autoupdate --protocol quic --metrics ${TUNNEL_METRICS} run --token-file %d/token
LoadCredential=token:/etc/radical/tunnel-token
Restart=always
RestartSec=1
TimeoutStopSec=45
# A core would hold the token.
LimitCORE=0
StandardOutput=append:/var/log/radical/tunnel.log
StandardError=append:/var/log/radical/tunnel.log

# It faces the network, so it may not ask who this machine is: the role has all tables.
IPAddressDeny=169.254.169.254 fd00:ec2::254

DynamicUser=yes
UMask=0077
MemoryDenyWriteExecute=yes
${SANDBOX}

[Install]
WantedBy=multi-user.target
`;
}

function oneShotUnit(description: string, script: string): string {
  return `[Unit]
Description=${description}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart=${INSTALLED_AT}/node/${script}
TimeoutStartSec=50
`;
}

function timerUnit(description: string, seconds: number): string {
  return `[Unit]
Description=${description}

[Timer]
OnActiveSec=${seconds}
OnUnitInactiveSec=${seconds}
AccuracySec=1

[Install]
WantedBy=timers.target
`;
}

/**
 * Writes the files of secrets and the settings of the server. A file that is the same stays as it is; the server reads
 * changed keys by itself, the tunnel is started again. `RADICAL_ETC` and `RADICAL_MEMINFO` are for tests.
 */
function parametersScript(): string {
  return `#!/bin/bash
# Secrets and settings of this machine, as the account has them.
set -euo pipefail
ETC="\${RADICAL_ETC:-/etc/radical}"
# shellcheck source=/dev/null
. "$ETC/node.env"
export AWS_REGION
umask 077

# One line: keys have commas between them.
KEYS="$RADICAL_PARAMETERS/keys"
TOKEN="$RADICAL_PARAMETERS/nodes/$RADICAL_NODE/tunnel-token"
aws ssm get-parameters --region "$AWS_REGION" --names "$KEYS" "$TOKEN" --with-decryption --output text \\
  --query "[Parameters[?Name=='$KEYS'].Value | [0], Parameters[?Name=='$TOKEN'].Value | [0]]" >"$ETC/fetched"
read -r keys token <"$ETC/fetched"
rm "$ETC/fetched"
if [ "$keys" = None ] || [ "$token" = None ]; then echo "a secret of $RADICAL_PARAMETERS is missing" >&2; exit 1; fi

# store <text> <file> <mode>: says "changed" if the file was another one.
store() {
  echo "$1" >"$2.fresh"
  if cmp -s "$2.fresh" "$2"; then rm "$2.fresh"; return; fi
  if getent group radical >/dev/null; then chgrp radical "$2.fresh"; fi
  chmod "$3" "$2.fresh"
  mv "$2.fresh" "$2"
  echo changed
}

# The tunnel, the agent of CloudWatch and the system have the rest.
memory="$(awk '/^MemTotal:/ { print int($2 / 1024) - ${MACHINE_ROOM_MB} }' "\${RADICAL_MEMINFO:-/proc/meminfo}")"

cat >"$ETC/server.env" <<END
RADICAL_HOST=${SERVER_HOST}
RADICAL_PORT=${SERVER_PORT}
RADICAL_STORAGE=dynamodb:$RADICAL_TABLES?region=$AWS_REGION
RADICAL_KEYS_FILE=$ETC/keys
RADICAL_ADVERTISE=$RADICAL_ADVERTISE
RADICAL_READ_LEASE_MS=$RADICAL_READ_LEASE_MS
RADICAL_DEPLOYMENT=$RADICAL_DEPLOYMENT
RADICAL_METRICS_NAMESPACE=$RADICAL_METRICS_NAMESPACE
RADICAL_MEMORY_MB=$memory
END
# Options of the server that the deployment has chosen.
grep --extended-regexp '^(${SERVER_VARIABLES.join("|")})=' "$ETC/node.env" >>"$ETC/server.env" || true
store "$keys" "$ETC/keys" 0640 >/dev/null
token="$(store "$token" "$ETC/tunnel-token" 0600)"
if [ "$token" = changed ] && systemctl --quiet is-active radical-tunnel; then systemctl restart radical-tunnel; fi
`;
}

/** A server that has not answered for five minutes, since systemd starts it again and again, needs another machine. */
const DEAD_LOOKS = 30;
/** The part of the scripts that writes lines into the server's log. */
const LINES = `LOG="\${RADICAL_LOG:-/var/log/radical/server.log}"
# line <level> <event> <more fields, as JSON>
line() {
  printf '{"time":"%s","level":"%s","event":"%s","node":"%s",%s}\\n' \\
    "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" "$1" "$2" "$RADICAL_NODE" "$3" >>"$LOG"
}`;

/**
 * A leader that locations can't reach would keep the leadership from the one that they can. After the third look without a
 * tunnel it is started again, which gives the leadership up. So is a server that answers nothing for two minutes. The variables
 * with defaults are for tests.
 */
function watchScript(): string {
  return `#!/bin/bash
# One look at the server and its tunnel.
set -euo pipefail
ETC="\${RADICAL_ETC:-/etc/radical}"
RUN="\${RADICAL_RUN:-/run/radical}"
SERVER="\${RADICAL_SERVER:-http://${SERVER_HOST}:${SERVER_PORT}}"
TUNNEL="\${RADICAL_TUNNEL:-http://${TUNNEL_METRICS}}"
# shellcheck source=/dev/null
. "$ETC/node.env"
mkdir -p "$RUN"
${LINES}

answers() { curl --silent --fail --max-time 4 --output /dev/null "$1"; }
count() { if [ -s "$RUN/$1" ]; then cat "$RUN/$1"; else echo 0; fi; }

server=0
if answers "$SERVER/healthz"; then server=1; fi
# Whether it leads, or waits for the leadership.
serving=0
standby=0
case "$(curl --silent --max-time 4 "$SERVER/readyz" || true)" in
  *'"status":"ready"'*) serving=1 ;;
  *'"status":"standby"'*) standby=1 ;;
esac
tunnel=0
if answers "$TUNNEL/ready"; then tunnel=1; fi
state="$(printf '"server":%s,"serving":%s,"standby":%s,"tunnel":%s' "$server" "$serving" "$standby" "$tunnel")"

looks=$(( $(count looks) + 1 ))
if [ "$looks" -ge 6 ]; then
  looks=0
  line info machine "$state"
fi
echo "$looks" >"$RUN/looks"

unreachable=0
if [ "$serving" = 1 ] && [ "$tunnel" = 0 ]; then unreachable=$(( $(count unreachable) + 1 )); fi
if [ "$unreachable" -ge 3 ]; then
  unreachable=0
  line error leader_unreachable "$state"
  systemctl restart ${SERVER_UNIT}
fi
echo "$unreachable" >"$RUN/unreachable"

silent=0
if [ "$server" = 0 ]; then silent=$(( $(count silent) + 1 )); fi
if [ "$silent" -ge 12 ]; then
  silent=0
  line error server_silent "$state"
  systemctl restart ${SERVER_UNIT}
fi
echo "$silent" >"$RUN/silent"

# The group launches another machine in place of one that has ended.
dead=0
if [ "$server" = 0 ]; then dead=$(( $(count dead) + 1 )); fi
echo "$dead" >"$RUN/dead"
if [ "$dead" -ge ${DEAD_LOOKS} ]; then
  line error server_dead "$state"
  # The line is to leave the machine before that.
  sleep "\${RADICAL_LAST_WORDS_SECONDS:-15}"
  systemctl poweroff
fi
`;
}

/** A server that was killed, or that memory ran out for, has no last words of its own. The others have said why they end. */
function endedScript(): string {
  return `#!/bin/bash
# Run by systemd after the server has ended.
set -euo pipefail
# shellcheck source=/dev/null
. "\${RADICAL_ETC:-/etc/radical}/node.env"
${LINES}

case "\${SERVICE_RESULT:-success}" in
  success | exit-code) ;;
  *) line error server_ended "$(printf '"result":"%s","exitCode":"%s"' "$SERVICE_RESULT" "\${EXIT_STATUS:-}")" ;;
esac
`;
}

/** Makes a machine of a fresh Amazon Linux 2023. Started once, by user data, as root, with the artefact unpacked. */
function installScript(): string {
  return `#!/bin/bash
# Installs what the server needs, starts it, and ends when it can be reached through its tunnel.
set -euo pipefail
. /etc/radical/node.env

dnf install --assumeyes --setopt=install_weak_deps=False nodejs24 amazon-cloudwatch-agent logrotate
case "$(/usr/bin/node --version)" in
  v24.*) ;;
  *) echo "/usr/bin/node is not Node 24" >&2; exit 1 ;;
esac

# Logs first: what fails from here on can be read in the account.
install -d -m 0755 /var/log/radical
cat >/opt/aws/amazon-cloudwatch-agent/etc/amazon-cloudwatch-agent.json <<END
{"agent":{"run_as_user":"root"},"logs":{"logs_collected":{"files":{"collect_list":[
{"file_path":"/var/log/radical/server.log","log_group_name":"$RADICAL_LOG_GROUP","log_stream_name":"$RADICAL_NODE/{instance_id}","timezone":"UTC"},
{"file_path":"/var/log/radical/tunnel.log","log_group_name":"$RADICAL_MACHINE_LOG_GROUP","log_stream_name":"$RADICAL_NODE/{instance_id}/tunnel","timezone":"UTC"},
{"file_path":"/var/log/cloud-init-output.log","log_group_name":"$RADICAL_MACHINE_LOG_GROUP","log_stream_name":"$RADICAL_NODE/{instance_id}/start","timezone":"UTC"}
]}}}}
END
/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s \\
  -c file:/opt/aws/amazon-cloudwatch-agent/etc/amazon-cloudwatch-agent.json
cat >/etc/logrotate.d/radical <<END
/var/log/radical/*.log {
  size 50M
  rotate 3
  missingok
  copytruncate
}
END

aws s3 cp --only-show-errors "s3://$RADICAL_BUCKET/${CLOUDFLARED.key}" /usr/local/bin/cloudflared
echo "${CLOUDFLARED.sha256}  /usr/local/bin/cloudflared" | sha256sum --check --strict
chmod 0755 /usr/local/bin/cloudflared

groupadd --system --force radical
cp -r ${INSTALLED_AT}/node/systemd/. /etc/systemd/system/
cp ${INSTALLED_AT}/${SERVER_UNIT}.service /etc/systemd/system/
systemctl daemon-reload
systemctl enable --now radical-tunnel ${SERVER_UNIT} radical-parameters.timer radical-watch.timer

for _ in $(seq 150); do
  # A standby answers too.
  if curl --silent --fail --output /dev/null http://${SERVER_HOST}:${SERVER_PORT}/healthz &&
    curl --silent --fail --output /dev/null http://${TUNNEL_METRICS}/ready; then exit 0; fi
  sleep 2
done
echo "the server or its tunnel is not up after five minutes" >&2
systemctl --no-pager status radical-tunnel ${SERVER_UNIT} >&2 || true
tail -n 20 /var/log/radical/*.log >&2
exit 1
`;
}

/** Those of a machine of the stack, by their path in the artefact. */
export function nodeFiles(): FileTexts {
  return {
    [`${SERVER_UNIT}.service`]: serverUnit(),
    "node/install.sh": installScript(),
    "node/parameters.sh": parametersScript(),
    "node/watch.sh": watchScript(),
    "node/ended.sh": endedScript(),
    [`node/systemd/${SERVER_UNIT}.service.d/machine.conf`]: serverDropIn(),
    "node/systemd/radical-tunnel.service": tunnelUnit(),
    "node/systemd/radical-parameters.service": oneShotUnit("Secrets and settings of this machine", "parameters.sh"),
    "node/systemd/radical-parameters.timer": timerUnit("Secrets and settings of this machine, each minute", 60),
    "node/systemd/radical-watch.service": oneShotUnit("A look at the LVI server and its tunnel", "watch.sh"),
    "node/systemd/radical-watch.timer": timerUnit("A look at the LVI server and its tunnel, every ten seconds", 10),
  };
}

/** Those for a server that the developer hosts, beside its own files. */
export function hostingFiles(server: FileTexts): FileTexts {
  const { version } = JSON.parse(server["package.json"]!) as { readonly version: string };
  const image = imageFiles();
  return {
    [`${SERVER_UNIT}.service`]: serverUnit(),
    ...image,
    Dockerfile: dockerfile(version, [...Object.keys(server), ...Object.keys(image)]),
  };
}
