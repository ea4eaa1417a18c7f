/**
 * The image of the server, described once. The Dockerfile follows from it, and so does the configuration of the image that Radical
 * builds by itself (`server-image.ts`).
 */
import { SERVER_PORT } from "../primary/names.ts";
import type { ImageSource } from "./registry.ts";

const DOCKER_HUB = "https://registry-1.docker.io";

/** Debian with Node, for amd64 and arm64. */
export const BASE_IMAGE: ImageSource = {
  origin: DOCKER_HUB,
  repository: "library/node",
  tag: "24.21.0-slim",
  digest: "sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6",
};

/** Cloudflare's own image of cloudflared, of the same version as that of machines of EC2. */
export const TUNNEL_IMAGE: ImageSource = {
  origin: DOCKER_HUB,
  repository: "cloudflare/cloudflared",
  tag: "2026.9.3",
  digest: "sha256:072c067d25ccbe61d46e18f0d0723255f2bb5304f7317caa95b27031520ff92c",
};

export const IMAGE_USER = "node";
/** Of the base image. */
export const IMAGE_USER_ID = 1_000;

/** Where the files of the server lie. */
export const SERVER_FOLDER = "/opt/radical";

/** Of the image's user. */
export const STATE_FOLDER = "/var/lib/radical";

/** With these the C library gives memory back to the system that nobody uses. */
export const ALLOCATOR_ENVIRONMENT = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "32768" } as const;

export const IMAGE_ENVIRONMENT: Readonly<Record<string, string>> = {
  NODE_ENV: "production",
  ...ALLOCATOR_ENVIRONMENT,
  RADICAL_HOST: "0.0.0.0",
  RADICAL_PORT: `${SERVER_PORT}`,
  RADICAL_STORAGE: `sqlite:${STATE_FOLDER}/radical.sqlite`,
};

/** No signal opens a debugger, and no report has the environment, in which the keys may be. */
export const ENTRYPOINT = [
  "node",
  "--disable-sigusr1",
  "--report-exclude-env",
  `${SERVER_FOLDER}/dist/main.js`,
] as const;

const HEALTHY = "healthy.mjs";

export const HEALTH_COMMAND = ["node", `${SERVER_FOLDER}/${HEALTHY}`] as const;

export const HEALTH = { intervalSeconds: 10, timeoutSeconds: 5, startSeconds: 30, retries: 3 } as const;

export const STOP_SIGNAL = "SIGTERM";

/** The labels of an image, by the names that registries and scanners know. */
export function labelsOf(version: string): Readonly<Record<string, string>> {
  return {
    "org.opencontainers.image.title": "radical-lvi-server",
    "org.opencontainers.image.description": "The primary of a Radical application",
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.base.name": `docker.io/${BASE_IMAGE.repository}:${BASE_IMAGE.tag}`,
    "org.opencontainers.image.base.digest": BASE_IMAGE.digest,
  };
}

/** Ends with 0 if the server in its container answers, a standby too. */
const HEALTHY_SCRIPT = `// Is the server of this container healthy?
try {
  const { ok } = await fetch("http://127.0.0.1:" + process.env.RADICAL_PORT + "/healthz");
  process.exitCode = ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}
`;

/** Those of an image, beside the files of the server. */
export function imageFiles(): Readonly<Record<string, string>> {
  return { [HEALTHY]: HEALTHY_SCRIPT };
}

/** For the folder that `radical primary` writes. `files`: what of that folder is in the image. */
export function dockerfile(version: string, files: readonly string[]): string {
  const top = files.filter((path) => !path.includes("/"));
  const folders = [...new Set(files.filter((path) => path.includes("/")).map((path) => path.split("/")[0]!))];
  const pairs = (of: Readonly<Record<string, string>>): string =>
    Object.entries(of)
      .map(([name, value]) => `${name}=${/^[\w./:-]+$/.test(value) ? value : JSON.stringify(value)}`)
      .join(" \\\n  ");
  const { intervalSeconds, timeoutSeconds, startSeconds, retries } = HEALTH;
  return `# The LVI server of Radical. Keys come in RADICAL_KEYS or as a file (RADICAL_KEYS_FILE); see docs/operations.md.
FROM ${BASE_IMAGE.repository.replace(/^library\//, "")}:${BASE_IMAGE.tag}@${BASE_IMAGE.digest}
LABEL ${pairs(labelsOf(version))}
COPY ${top.join(" ")} ${SERVER_FOLDER}/
${folders.map((folder) => `COPY ${folder} ${SERVER_FOLDER}/${folder}`).join("\n")}
# The database of the default storage lies here: give the volume a name to keep it.
RUN install -d -o ${IMAGE_USER} -g ${IMAGE_USER} -m 0700 ${STATE_FOLDER}
WORKDIR ${STATE_FOLDER}
VOLUME ${STATE_FOLDER}
ENV ${pairs(IMAGE_ENVIRONMENT)}
USER ${IMAGE_USER}
EXPOSE ${SERVER_PORT}
# The server handles it itself and starts no processes: it needs no init before it.
STOPSIGNAL ${STOP_SIGNAL}
HEALTHCHECK --interval=${intervalSeconds}s --timeout=${timeoutSeconds}s --start-period=${startSeconds}s --retries=${retries} CMD ${JSON.stringify(HEALTH_COMMAND)}
ENTRYPOINT ${JSON.stringify(ENTRYPOINT)}
`;
}
