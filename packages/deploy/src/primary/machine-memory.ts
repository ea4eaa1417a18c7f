/**
 * The memory of a machine is not the server's alone, and the server sees only its own control group, or the whole machine. So it is told how
 * much it may take. All that is beside it has the rest.
 */

const MB_PER_GB = 1_024;

/** Of `cloudflared`. The buffers of its four connections may have 30 MiB each, and the program itself takes some 60. */
const TUNNEL_MB = 192;

/** On EC2 besides: the agent of CloudWatch, with the system and its other services. */
const AGENT_MB = 96;
const SYSTEM_MB = 160;

/** On a machine of EC2, of what its kernel calls its memory: a little less than that of the type. */
export const MACHINE_ROOM_MB = TUNNEL_MB + AGENT_MB + SYSTEM_MB;

/** The memory that the server may take in a task of Fargate. */
export function taskServerMb(memoryGb: number): number {
  return memoryGb * MB_PER_GB - TUNNEL_MB;
}
