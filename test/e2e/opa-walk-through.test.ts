import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../kits/peers-kube.ts";
import { peerSuite } from "../kits/peers.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { docsSection, examplePolicies, exampleShell, withoutReasons, type ExampleShell } from "../kits/walk-through.ts";

const heading = "The classic example, step by step";

let program: PratiqueProgram;

async function shellFor(words: string): Promise<ExampleShell> {
  const [hub, authorizer] = [await freePort(), await freePort()];
  const replaced = {
    "6443": String(hub),
    [examplePolicies[0].words]: words,
    "pratique authorizer": `pratique authorizer --secure-port ${authorizer}`,
    "pratique hub": `pratique hub --secure-port ${hub}`,
  };
  const shell = await exampleShell("opa-walk-through", replaced, program);
  onTestFinished(() => shell.remove());
  return shell;
}

peerSuite("kubectl", "the walk-through of docs/policy.md on a hub", () => {
  beforeAll(async () => {
    program = await pratiqueProgram();
  });

  afterAll(() => program.remove());

  describe.each(examplePolicies)("with $title", ({ words, reasons }) => {
    test("prints what the page says, line by line", async () => {
      const { setup, vertices: vertex } = await docsSection("policy.md", heading);
      const shell = await shellFor(words);
      for (const line of setup) {
        if (line.startsWith("cd ") || line.startsWith("export ")) continue;
        if (line.endsWith(" &")) await shell.start(line.slice(0, -2)).until(/^Ready|the authorizer listens/m);
        else await shell.ok(line);
      }
      expect(vertex.length).toBeGreaterThan(10);
      const after = await docsSection("policy.md", "Check a policy before rollout");
      for (const { command, printed } of reasons ? [...vertex, ...after.vertices] : withoutReasons(vertex)) {
        const said = await shell.run(command, { KUBECONFIG: join(shell.dir, "users.kubeconfig") });
        expect({ command, printed: said }).toEqual({ command, printed });
      }
    }, 120_000);
  });
});
