import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { docsPage } from "../kits/docs-page.ts";
import { freePort } from "../kits/peers-kube.ts";
import { opaSuite } from "../kits/peers-opa.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { peerSuite } from "../kits/peers.ts";

let program: PratiqueProgram;

await opaSuite("each block works as typed, with OPA, of docs/", (opa) => {
  peerSuite("kubectl", "and kubectl:", () => {
    beforeAll(async () => {
      program = await pratiqueProgram();
    });

    afterAll(() => program.remove());

    test("policy.md", async () => {
      const page = await docsPage("policy.md", program);
      await page.save("package k8s", "k8s.rego");
      const { print, serve, hub } = page.commands("pratique authorizer --policy k8s.rego", "print", "serve", "hub");
      const authorizer = async (line: string): Promise<string> => {
        const words = ["pratique authorizer", "--secure-port", await freePort(), "--cert-dir", "certs"];
        return line.replace(" &", "").replace("pratique authorizer", words.join(" "));
      };
      const serving = await authorizer(serve);
      const port = /--secure-port (\d+)/.exec(serving)?.[1];
      await page.type((await authorizer(print)).replace(/--secure-port \d+/, `--secure-port ${port}`));
      await page.start(serving).until(/reason=Listening/);
      await page.hub(hub);
      await page.type("export KUBECONFIG=$HOME/pratique-data/admin.kubeconfig");
      expect(await page.type("pratique why --as carl --as-group conf list pods")).toMatch(/^yes/);

      // test/e2e/opa-walk-through.test.ts types these three, with what they print.
      page.next("cd examples/opa-walk-through");
      page.next("$ kubectl --context ann get pod");
      page.next("$ pratique policy check --query");

      await mkdir(join(page.dir, "policies"));
      await page.type("cp k8s.rego policies/");
      page.replace({ "opa build": `${opa} build`, "opa run": `${opa} run` });
      const { build, bundle } = page.commands("opa build", "build", "bundle");
      await page.type(build);
      await page.start(await authorizer(bundle)).until(/reason=Listening/);

      await page.save("apiVersion: pratique.dev/v1alpha1", "rules.yaml");
      await page.start(await authorizer("pratique authorizer --cel rules.yaml")).until(/reason=Listening/);

      page.replace({ "127.0.0.1:8181": `127.0.0.1:${await freePort()}` });
      const { server, client } = page.commands("opa run --server", "server", "client");
      await page.start(server).until(/[Ii]nitializing server/);
      await page.start(await authorizer(client)).until(/reason=Listening/);
      expect(page.left()).toEqual([]);
    }, 120_000);
  });
});
