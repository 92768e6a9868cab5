// Creates the container `shards` of an azurite that listens on a port: node container.mjs PORT
import { createHmac } from "node:crypto";

// The account and the key that every emulator has.
const account = "devstoreaccount1";
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

const date = new Date().toUTCString();
const version = "2021-08-06";
const signed =
  `PUT${"\n".repeat(12)}x-ms-date:${date}\nx-ms-version:${version}\n` +
  `/${account}/${account}/shards\nrestype:container`;
const signature = createHmac("sha256", Buffer.from(key, "base64")).update(signed).digest("base64");
const place = `http://127.0.0.1:${process.argv[2]}/${account}/shards?restype=container`;
const answer = await fetch(place, {
  method: "PUT",
  headers: {
    "x-ms-date": date,
    "x-ms-version": version,
    Authorization: `SharedKey ${account}:${signature}`,
  },
});
if (answer.status !== 201) {
  console.error(answer.status, await answer.text());
  process.exit(1);
}
