import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { informerTests, type InformerStage, type Observed, type Report } from "../kits/peers-informer.ts";
import { peerSuite, requirePeer } from "../kits/peers.ts";
import { spawnProcess } from "../kits/peers-process.ts";

const program = resolve(import.meta.dirname, "python/informer.py");

interface Line {
  readonly told: Report;
  readonly cache: Readonly<Record<string, string>>;
}

async function informerOf(stage: InformerStage): Promise<Observed> {
  const caFile = join(stage.dir, "ca.crt");
  await writeFile(caFile, stage.ca());
  const { printed, stop } = spawnProcess(
    requirePeer("python3-kubernetes"),
    [program, stage.url, caFile, stage.tokenFile, "watched"],
    { home: stage.dir },
  );
  const lines = (): readonly Line[] => {
    const text = printed();
    if (/^[^{]/m.test(text)) throw new TypeError(`the informer printed ${text}`);
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  };
  return {
    told: () => lines().map(({ told }) => told),
    cache: () => lines().at(-1)?.cache ?? {},
    stop,
  };
}

peerSuite("python3-kubernetes", "an informer of the official client for Python", () => {
  informerTests(informerOf);
});
