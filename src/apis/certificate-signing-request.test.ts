import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";

import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { createCa } from "../pki/ca.ts";
import { createCsr } from "../pki/csr.ts";
import { generatePrivateKey } from "../pki/keys.ts";
import { certificateSigningRequests as requests } from "./certificate-signing-request.ts";
import { tableFor } from "../serializer/table.ts";

const now = Date.parse("2026-06-01T12:00:00Z");
const user = { username: "system:bootstrap:abcdef", groups: ["system:bootstrappers", "system:authenticated"] };
const context = { user, now };

const key = generatePrivateKey();
const pem = createCsr({ key, commonName: "system:node:a", organizations: ["system:nodes"] });
const certificatePem = createCa({ commonName: "c", key, now, years: 1, random: (size) => randomBytes(size) }).pem;

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

const spec = {
  request: base64(pem),
  signerName: "kubernetes.io/kube-apiserver-client-kubelet",
  usages: ["digital signature", "client auth"],
};

function csr(fields: object): ApiObject {
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "a" },
    ...fields,
  };
}

function said(errors: readonly FieldError[] | undefined): readonly string[] {
  return (errors ?? []).map((error) => `${error.path}: ${error.message}`);
}

const approved = {
  type: "Approved",
  status: "True",
  reason: "KubectlApprove",
  message: "yes",
  lastUpdateTime: "2026-06-01T11:00:00Z",
  lastTransitionTime: "2026-06-01T11:00:00Z",
};
const denied = { ...approved, type: "Denied" };
const failed = { ...approved, type: "Failed" };

describe("creating a request", () => {
  test("fills in who asks and clears the status", () => {
    const made = requests.prepareForCreate?.(csr({ spec }), {
      user: { ...user, uid: "7", extra: { "authentication.kubernetes.io/credential-id": ["x"] } },
      now,
    });
    expect(made).toStrictEqual(
      csr({
        spec: {
          ...spec,
          username: user.username,
          uid: "7",
          groups: user.groups,
          extra: { "authentication.kubernetes.io/credential-id": ["x"] },
        },
        status: {},
      }),
    );
  });

  test("does not let anybody ask in another's name, or be approved from the start", () => {
    const forged = csr({
      spec: { ...spec, username: "admin", uid: "1", groups: ["system:masters"], extra: { a: ["b"] } },
      status: { conditions: [approved], certificate: base64(certificatePem) },
    });
    const made = requests.prepareForCreate?.(forged, context);
    expect(made).toStrictEqual(csr({ spec: { ...spec, username: user.username, groups: user.groups }, status: {} }));
  });
});

describe("a request", () => {
  const signer = "kubernetes.io/legacy-unknown";
  const bad = 'spec.request: Invalid value: "<certificate request data>": certificate request: ';
  const damaged = Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ""), "base64");
  damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
  const cases: Readonly<Record<string, { readonly spec: object; readonly errors: readonly string[] }>> = {
    "of a kubelet is accepted": { spec, errors: [] },
    "with key encipherment is accepted": {
      spec: { ...spec, usages: [...spec.usages, "key encipherment"] },
      errors: [],
    },
    "for ten minutes is accepted": { spec: { ...spec, expirationSeconds: 600 }, errors: [] },
    "for less than ten minutes is refused": {
      spec: { ...spec, expirationSeconds: 599 },
      errors: [
        "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
      ],
    },
    "for no usage is refused": {
      spec: { ...spec, usages: [] },
      errors: ["spec.usages: Required value"],
    },
    "for an unknown usage is refused": {
      spec: { ...spec, usages: ["world domination"] },
      errors: [
        'spec.usages[0]: Unsupported value: "world domination": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"',
      ],
    },
    "for a usage twice is refused": {
      spec: { ...spec, usages: ["client auth", "client auth"] },
      errors: ['spec.usages[1]: Duplicate value: "client auth"'],
    },
    "without a signer is refused": {
      spec: { ...spec, signerName: "" },
      errors: ["spec.signerName: Required value"],
    },
    "to the legacy signer is refused": {
      spec: { ...spec, signerName: signer },
      errors: [
        `spec.signerName: Invalid value: "${signer}": the legacy signerName is not allowed via this API version`,
      ],
    },
    "that is empty is refused": { spec: { ...spec, request: "" }, errors: [`${bad}there is no PEM block`] },
    "that is a certificate is refused": {
      spec: { ...spec, request: base64(certificatePem) },
      errors: [`${bad}PEM block type must be CERTIFICATE REQUEST`],
    },
    "whose self-signature is wrong is refused": {
      spec: {
        ...spec,
        request: base64(
          `-----BEGIN CERTIFICATE REQUEST-----\n${damaged.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`,
        ),
      },
      errors: [`${bad}the signature does not verify with the key in the request`],
    },
    "that is a giant is refused": {
      spec: { ...spec, request: base64("x".repeat(70_000)) },
      errors: [`${bad.replace("certificate request: ", "")}certificate request is larger than 65536 bytes`],
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { spec: own, errors }) => {
    expect(said(requests.validate?.(csr({ spec: own })))).toStrictEqual(errors);
  });

  test("may have a name that no DNS name can be", () => {
    expect(requests.names).toBe("path");
  });
});

const stored = csr({ spec: { ...spec, username: "u" }, status: { conditions: [approved] } });

test("a plain update changes metadata alone, and says nothing of the rest", () => {
  const incoming = {
    ...csr({ spec: {}, status: { conditions: [denied], certificate: "x" } }),
    metadata: { name: "a", labels: { a: "b" } },
  };
  expect(requests.prepareForUpdate?.(incoming, stored, context)).toStrictEqual({
    ...stored,
    metadata: { name: "a", labels: { a: "b" } },
  });
});

/** What the subresource makes of `status`, and what is wrong with that. */
function through(
  subresource: "approval" | "status",
  before: object,
  status: object,
): { status: unknown; errors: readonly string[] } {
  const old = csr({ spec, status: before });
  const part = requests.subresources[subresource];
  const next = part?.prepareForUpdate?.(csr({ spec: { ...spec, username: "forged" }, status }), old, context) ?? old;
  expect(next["spec"]).toStrictEqual(spec);
  return { status: next["status"], errors: said(part?.validateUpdate?.(next, old)) };
}

describe("approval", () => {
  test("adds a condition with the times left out filled in", () => {
    const made = through("approval", {}, { conditions: [{ type: "Approved", status: "True", reason: "R" }] });
    expect(made).toStrictEqual({
      status: {
        conditions: [
          {
            type: "Approved",
            status: "True",
            reason: "R",
            lastUpdateTime: "2026-06-01T12:00:00Z",
            lastTransitionTime: "2026-06-01T12:00:00Z",
          },
        ],
      },
      errors: [],
    });
  });

  test("keeps the time of the transition where type and status stay", () => {
    const { lastUpdateTime: _update, lastTransitionTime: _transition, ...rest } = approved;
    const made = through("approval", { conditions: [approved] }, { conditions: [rest] });
    expect(made.status).toStrictEqual({
      conditions: [
        { ...rest, lastUpdateTime: "2026-06-01T12:00:00Z", lastTransitionTime: approved.lastTransitionTime },
      ],
    });
  });

  test("takes no certificate", () => {
    const made = through("approval", {}, { conditions: [approved], certificate: base64(certificatePem) });
    expect(made).toStrictEqual({ status: { conditions: [approved] }, errors: [] });
  });

  test("keeps the certificate that is stored", () => {
    const certificate = base64(certificatePem);
    const made = through("approval", { conditions: [approved], certificate }, { conditions: [approved] });
    expect(made).toStrictEqual({ status: { conditions: [approved], certificate }, errors: [] });
  });

  const path = "status.conditions";
  const cases: Readonly<
    Record<
      string,
      { readonly before: readonly object[]; readonly after: readonly object[]; readonly errors: readonly string[] }
    >
  > = {
    "may add conditions of other types": {
      before: [approved],
      after: [approved, { ...approved, type: "x", status: "False" }],
      errors: [],
    },
    "may not take an approval back": {
      before: [approved],
      after: [],
      errors: [`${path}: Forbidden: updates may not remove a condition of type "Approved"`],
    },
    "may not take a denial or a failure back": {
      before: [denied, failed],
      after: [],
      errors: [
        `${path}: Forbidden: updates may not remove a condition of type "Denied"`,
        `${path}: Forbidden: updates may not remove a condition of type "Failed"`,
      ],
    },
    "may not deny what is approved": {
      before: [approved],
      after: [approved, denied],
      errors: [`${path}[1].type: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive`],
    },
    "may not approve what is denied": {
      before: [denied],
      after: [denied, approved],
      errors: [`${path}[1].type: Invalid value: "Approved": Approved and Denied conditions are mutually exclusive`],
    },
    "may not approve twice": {
      before: [approved],
      after: [approved, approved],
      errors: [`${path}[1].type: Duplicate value: "Approved"`],
    },
    "may not half approve": {
      before: [],
      after: [{ ...approved, status: "Unknown" }],
      errors: [`${path}[0].status: Unsupported value: "Unknown": supported values: "True"`],
    },
    "needs a type and a status": {
      before: [],
      after: [{ reason: "x" }],
      errors: [`${path}[0].type: Required value`, `${path}[0].status: Required value`],
    },
    "knows three statuses": {
      before: [],
      after: [{ ...approved, type: "x", status: "true" }],
      errors: [`${path}[0].status: Unsupported value: "true": supported values: "False", "True", "Unknown"`],
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { before, after, errors }) => {
    expect(through("approval", { conditions: before }, { conditions: after }).errors).toStrictEqual(errors);
  });
});

describe("status", () => {
  const certificate = base64(certificatePem);

  test("sets the certificate, once", () => {
    expect(through("status", { conditions: [approved] }, { conditions: [approved], certificate })).toStrictEqual({
      status: { conditions: [approved], certificate },
      errors: [],
    });
  });

  test("accepts a chain with words around it", () => {
    const chain = base64(`issued for you\n${certificatePem}and its CA\n${certificatePem}`);
    expect(through("status", {}, { certificate: chain }).errors).toStrictEqual([]);
  });

  test.each(["", base64(`${certificatePem}\n`)])("may not replace or take away a certificate", (other) => {
    expect(through("status", { certificate }, { certificate: other }).errors).toStrictEqual([
      "status.certificate: Forbidden: updates may not modify existing certificate content",
    ]);
  });

  const bad = 'status.certificate: Invalid value: "<certificate data>": ';
  const trailing = Buffer.concat([
    Buffer.from(certificatePem.replace(/-----[A-Z ]+-----/g, ""), "base64"),
    Buffer.from([0]),
  ]).toString("base64");
  test.each([
    ["no PEM", "hello", "must contain at least one CERTIFICATE PEM block"],
    [
      "a key",
      certificatePem.replaceAll("CERTIFICATE", "PRIVATE KEY"),
      'only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"',
    ],
    ["PEM headers", certificatePem.replace("-----\n", "-----\nA: b\n\n"), "no PEM block headers are permitted"],
    [
      "a request under the name of a certificate",
      pem.replaceAll("CERTIFICATE REQUEST", "CERTIFICATE"),
      "a CERTIFICATE PEM block does not contain a certificate",
    ],
    [
      "a certificate with trailing data",
      `-----BEGIN CERTIFICATE-----\n${trailing}\n-----END CERTIFICATE-----\n`,
      "a CERTIFICATE PEM block does not contain a certificate",
    ],
  ])("refuses %s", (_title, text, why) => {
    expect(through("status", {}, { certificate: base64(text) }).errors).toStrictEqual([bad + why]);
  });

  test.each([approved, denied])("may not decide", (decision) => {
    expect(through("status", {}, { conditions: [decision] }).errors).toStrictEqual([
      `status.conditions: Forbidden: updates may not add a condition of type "${decision.type}"`,
    ]);
  });

  test("puts a changed decision back as it is stored", () => {
    const made = through(
      "status",
      { conditions: [approved] },
      { conditions: [{ ...approved, reason: "Forged" }, failed] },
    );
    expect(made).toStrictEqual({ status: { conditions: [approved, failed] }, errors: [] });
  });

  test("may add Failed", () => {
    expect(through("status", { conditions: [approved] }, { conditions: [approved, failed] }).errors).toStrictEqual([]);
  });

  test("may not take an approval back", () => {
    expect(through("status", { conditions: [approved] }, {}).errors).toStrictEqual([
      'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
    ]);
  });
});

describe("a request's row", () => {
  test.each([
    [{}, "Pending"],
    [{ conditions: [approved] }, "Approved"],
    [{ conditions: [denied] }, "Denied"],
    [{ conditions: [approved], certificate: "x" }, "Approved,Issued"],
    [{ conditions: [approved, failed] }, "Approved,Failed"],
    [{ conditions: [failed], certificate: "x" }, "Pending,Failed,Issued"],
  ])("of status %j says %s", (status, cell) => {
    expect(tableFor(requests, [csr({ spec, status })], { now }).rows[0]?.cells.at(-1)).toBe(cell);
  });

  test("shows signer, requestor and duration", () => {
    const object = {
      ...csr({ spec: { ...spec, username: "u", expirationSeconds: 3600 } }),
      metadata: { name: "a", creationTimestamp: "2026-06-01T11:59:55Z" },
    };
    const table = tableFor(requests, [object], { now });
    expect(table.columnDefinitions.map((column) => column.name)).toStrictEqual([
      "Name",
      "Age",
      "SignerName",
      "Requestor",
      "RequestedDuration",
      "Condition",
    ]);
    expect(table.rows[0]?.cells).toStrictEqual(["a", "5s", spec.signerName, "u", "60m", "Pending"]);
  });
});

test("is selected by signer", () => {
  expect(requests.selectableFields?.["spec.signerName"]?.(csr({ spec }))).toBe(spec.signerName);
});
