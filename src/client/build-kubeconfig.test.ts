import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { adminKubeconfig, bootstrapKubeconfig, kubeletKubeconfig } from "./build-kubeconfig.ts";
import { parseKubeconfig } from "./kubeconfig.ts";
import { resolveKubeconfig } from "./resolve-kubeconfig.ts";

const certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const key = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
const server = "https://[::1]:6443";
const readFile = async (path: string): Promise<Uint8Array> =>
  Buffer.from(path.endsWith(".crt") ? certificate : certificate + key);

describe("kubeconfigs that are written", () => {
  it("are read back: a person's", async () => {
    const text = adminKubeconfig({ server, ca: { pem: certificate }, clientCertPem: certificate, clientKeyPem: key });
    await expect(resolveKubeconfig(parseKubeconfig(text, "/f"), { readFile })).resolves.toMatchObject({
      context: "admin@pratique",
      server,
      caPem: certificate,
      clientCertPem: certificate,
      clientKeyPem: key,
    });
  });

  it("are laid out as a kubelet expects its own", () => {
    const text = kubeletKubeconfig({
      server,
      ca: { file: "/etc/kubernetes/pki/ca.crt" },
      credentialFile: "/var/lib/kubelet/pki/kubelet-client-current.pem",
    });
    expect(text).toBe(`apiVersion: v1
clusters:
  - cluster:
      certificate-authority: /etc/kubernetes/pki/ca.crt
      server: https://[::1]:6443
    name: default-cluster
contexts:
  - context:
      cluster: default-cluster
      namespace: default
      user: default-auth
    name: default-context
current-context: default-context
kind: Config
preferences: {}
users:
  - name: default-auth
    user:
      client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem
      client-key: /var/lib/kubelet/pki/kubelet-client-current.pem
`);
  });

  it("keep every token text, for readers of YAML 1.1 and 1.2 alike", () => {
    const numeric = fc.stringMatching(/^[0-9]{6}\.[0-9]{16}$/);
    const token = fc.oneof(
      numeric,
      fc.stringMatching(/^[a-z0-9]{6}\.[a-z0-9]{16}$/),
      fc.constantFrom("000e00.0000000000000000", "yes", "0x10", "1_000", "12:30"),
    );
    fc.assert(
      fc.property(token, (one) => {
        const text = bootstrapKubeconfig({ server, ca: { pem: certificate }, token: one });
        expect(parseKubeconfig(text, "f").users.get("tls-bootstrap-token-user")?.texts.get("token")).toBe(one);
        for (const version of ["1.1", "1.2"] as const) {
          expect(parse(text, { version })).toMatchObject({ users: [{ user: { token: one } }] });
        }
      }),
    );
  });
});
