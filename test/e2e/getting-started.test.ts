import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { freePort } from "../kits/peers-kube.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { peerSuite } from "../kits/peers.ts";
import { docsSection, exampleShell } from "../kits/walk-through.ts";

const page = "getting-started.md";
const start = "npm ci && npm start";

let program: PratiqueProgram;

peerSuite("kubectl", "docs/getting-started.md", () => {
  beforeAll(async () => {
    program = await pratiqueProgram();
  });

  afterAll(() => program.remove());

  test("works as typed", async () => {
    const hub = `pratique hub --secure-port ${await freePort()}`;
    const shell = await exampleShell("watch-pods", { [start]: hub }, program);
    onTestFinished(() => shell.remove());
    expect((await docsSection(page, "Start a hub")).setup).toEqual([start]);
    await shell.start(start).until(/^Ready/m);

    // The shell has `pratique` on its path, and the variable from here.
    const [alias = "", variable = "", ...joining] = (await docsSection(page, "Join a machine")).setup;
    expect([alias, variable]).toEqual([
      'alias pratique="node $PWD/dist/bin/pratique.js"',
      "export KUBECONFIG=$PWD/pratique-data/admin.kubeconfig",
    ]);
    const env = { KUBECONFIG: join(shell.dir, "pratique-data/admin.kubeconfig") };
    const looking = (await docsSection(page, "Look at both")).setup;
    const printed: string[] = [];
    for (const line of [...joining, ...looking]) printed.push(await shell.run(`${line} && echo good`, env));

    expect(joining).toHaveLength(2);
    expect(printed.slice(0, -1).filter((one) => !one.endsWith("good\n"))).toEqual([]);
    const [, , requests, credentials, whoami, why] = printed;
    expect(requests).toMatch(/certificatesigningrequest\S+ .* Approved,Issued\n/);
    expect(credentials).toContain("system:node:machine-1");
    expect(whoami).toMatch(/Username +system:node:machine-1\n/);
    expect(why).toMatch(/^no: system:node:machine-1 .* may not list nodes/);
  }, 120_000);
});
