import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort, kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { peerSuite } from "../kits/peers.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { eventually } from "../kits/peers-process.ts";
import {
  docsSection,
  examplePolicies,
  exampleShell,
  withoutReasons,
  type ExampleShell,
  type Section,
} from "../kits/walk-through.ts";

const authorizerLine = ({ setup }: Section): string =>
  (setup.find((line) => line.startsWith("pratique authorizer") && line.endsWith(" &")) ?? "").replace(/ &$/, "");
const hubLine = ({ setup }: Section): string =>
  (setup.find((line) => line.startsWith("pratique hub")) ?? "").replace(/ &$/, "");

/** The flags of a line, with files as whole paths. */
function flagsOf(line: string, dir: string): Readonly<Record<string, string>> {
  const pairs = [...line.matchAll(/--([a-z-]+) (\S+)/g)].map(([, name = "", value = ""]) => [
    name,
    /-(?:file|path)$/.test(name) ? join(dir, value) : value,
  ]);
  return Object.fromEntries(pairs) as Readonly<Record<string, string>>;
}

peerSuite(kubePrograms, "the walk-through of docs/policy.md on a real kube-apiserver", () => {
  let section: Section;
  let program: PratiqueProgram;
  let shell: ExampleShell;
  let kubernetes: Kubernetes;

  beforeAll(async () => {
    section = await docsSection("policy.md", "The classic example, step by step");
    const authorizer = await freePort();
    program = await pratiqueProgram();
    const replaced = { "pratique authorizer": `pratique authorizer --secure-port ${authorizer}` };
    shell = await exampleShell("opa-walk-through", replaced, program);
    for (const one of section.setup) {
      if (/^\.\/make-tokens|--print-kubeconfig|policy test/.test(one)) await shell.ok(one);
    }
    // The files that the page names, and no answer of a policy outlives it.
    kubernetes = await startKubernetes(
      undefined,
      {},
      {
        ...flagsOf(hubLine(section), shell.dir),
        "authorization-webhook-cache-authorized-ttl": "1ms",
        "authorization-webhook-cache-unauthorized-ttl": "1ms",
      },
    );
    await writeFile(join(shell.dir, "ca.crt"), kubernetes.ca);
    await shell.ok(`./make-kubeconfig.sh ${kubernetes.url} ca.crt > users.kubeconfig`);
    await eventually("the ServiceAccount that pods need", async () =>
      (await kubernetes.kubectl("get", "serviceaccount", "default")).code === 0 ? true : undefined,
    );
  }, 240_000);

  afterAll(async () => {
    await shell?.remove();
    await program?.remove();
    await kubernetes?.stop();
  });

  describe.each(examplePolicies)("with $title", ({ words, reasons }) => {
    test("prints what the page says, line by line", async () => {
      const started = shell.start(authorizerLine(section).replace(examplePolicies[0].words, words));
      onTestFinished(async () => void (await started.stop()));
      await started.until(/the authorizer listens/);
      for (const { command, printed } of reasons ? section.vertices : withoutReasons(section.vertices)) {
        const said = await shell.run(command, { KUBECONFIG: join(shell.dir, "users.kubeconfig") });
        expect({ command, printed: said }).toEqual({ command, printed });
      }
    }, 240_000);
  });
});
