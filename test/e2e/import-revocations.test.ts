import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { apiClient } from "../kits/api-client.ts";
import { csrObject } from "../kits/csr-object.ts";
import { startTestHub } from "../kits/hub.ts";

const crev = "/apis/access.pratique.dev/v1alpha1/credentialrevocations";

it("takes no certificate of a revocation list a second time that is revoked by its fingerprint", async () => {
  const hub = await startTestHub();
  const kubectl = apiClient(hub);
  const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  await kubectl(requests, { method: "POST", body: csrObject({ name: "n1", commonName: "system:node:n1" }) });
  const created = (await kubectl(`${requests}/n1`)).object();
  const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "" }];
  await kubectl(`${requests}/n1/approval`, { method: "PUT", body: { ...created, status: { conditions } } });
  const records = async (): Promise<readonly { readonly credentialID?: string }[]> =>
    (await kubectl("/apis/access.pratique.dev/v1alpha1/issuedcredentials"))
      .items()
      .flatMap(
        ({ status }) => (status as { readonly issued?: readonly { readonly credentialID?: string }[] }).issued ?? [],
      );
  await expect.poll(records).toHaveLength(1);
  const fingerprint = (await records())[0]?.credentialID?.split("=")[1] ?? "";
  await kubectl(crev, { method: "POST", body: { metadata: { name: "stolen" }, spec: { fingerprint } } });
  const file = join(hub.dir, "with-it.pem");
  await writeFile(file, (await kubectl("/revocations/crl")).text);
  const again = expect.stringMatching(/Z: 0 added, 1 in force already, 0 over by now\n$/);
  const written = { out: "", err: "" };
  const code = await runProgram(commands, ["revocations", "import", file, "--kubeconfig", hub.kubeconfig], {
    ...processIo(),
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
  });
  expect({ code, ...written }).toEqual({ code: 0, out: again, err: "" });
  expect((await kubectl(crev)).items().map(({ spec }) => spec)).toEqual([{ fingerprint }]);
  kubectl.close();
  await hub.close();
});
