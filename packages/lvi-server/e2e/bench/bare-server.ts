/**
 * The process that a server is measured against: `node:http` that reads each body and answers with bytes made before,
 * their headers the same as the server's. GET answers how much processor time it has used.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { FOLLOWUP_PATH } from "@radical/protocol";

const [lviReply = "", followupReply = ""] = process.argv.slice(2);
const replies = { lvi: Buffer.from(lviReply, "hex"), followup: Buffer.from(followupReply, "hex") };

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (request.method === "GET") {
      const { user, system } = process.cpuUsage();
      response.end(String((user + system) / 1_000_000));
      return;
    }
    Buffer.concat(chunks);
    const body = request.url === FOLLOWUP_PATH ? replies.followup : replies.lvi;
    response.writeHead(200, { "content-type": "application/cbor", "content-length": body.length }).end(body);
  });
});
server.keepAliveTimeout = 75_000;
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ port })}\n`);
});
// It ends with whoever has started it.
process.stdin.resume().on("end", () => process.exit());
