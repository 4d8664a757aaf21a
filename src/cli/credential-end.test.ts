import { describe, expect, it } from "vitest";
import { endedCredential } from "./credential-end.ts";

/** Of CN=ann, valid in January 2025. */
const clientCertPem = `-----BEGIN CERTIFICATE-----
MIIBAjCBqgIBATAKBggqhkjOPQQDAjAOMQwwCgYDVQQDDANhbm4wHhcNMjUwMTAx
MDAwMDAwWhcNMjUwMjAxMDAwMDAwWjAOMQwwCgYDVQQDDANhbm4wWTATBgcqhkjO
PQIBBggqhkjOPQMBBwNCAAT2XmOmLxquJUBxhSicRMpcNfvk6I4ebUFPf74hFXLj
vznN7v65cyVOC17OFlwhvaxSwmPlzoGlHbITrFYPQAbgMAoGCCqGSM49BAMCA0cA
MEQCICQ2eRewvlwQa0N2K8sGW0vfB0XUAEdxMqjPrOVMOHkiAiAzBOLNu8OP9Zz4
4+9qdXJBnOAfl7+WrapQHsFDtAKTOA==
-----END CERTIFICATE-----
`;
const [january, march] = [Date.UTC(2025, 0, 15), Date.UTC(2025, 2, 1)];

function jwt(claims: unknown): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;
}

describe("endedCredential", () => {
  it("names a client certificate that has ended, and says nothing of one that has not", () => {
    expect(endedCredential({ clientCertPem }, march)).toBe(
      "The client certificate of the kubeconfig ended at 2025-02-01T00:00:00Z.",
    );
    expect(endedCredential({ clientCertPem }, january)).toBeUndefined();
  });

  it("names a JSON web token that has ended, and says nothing of one that has not", () => {
    const token = jwt({ exp: Date.UTC(2025, 1, 1) / 1000 });
    expect(endedCredential({ token }, march)).toBe("The token of the kubeconfig ended at 2025-02-01T00:00:00Z.");
    expect(endedCredential({ token }, january)).toBeUndefined();
  });

  it.each(["abcdef.0123456789abcdef", "a.b.c", jwt([]), jwt({ exp: "1" }), jwt({ exp: -1e300 }), ""])(
    "says nothing of a token that does not tell its end: %j",
    (token) => {
      expect(endedCredential({ token, clientCertPem: "none" }, march)).toBeUndefined();
    },
  );
});
