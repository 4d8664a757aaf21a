import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { credentialRevocations } from "../../apis/credential-revocation.ts";
import { CliError } from "../cli-error.ts";
import { parseArguments } from "../parse-arguments.ts";
import { isAboutCredentials, namedTargets, untilText } from "./revoke-target.ts";
import { revokeCommand } from "../access/approval-commands.ts";

const fingerprint = "ab".repeat(32);

function targets(...words: readonly string[]): unknown {
  const parsed = parseArguments(revokeCommand, words);
  if (parsed.kind !== "args") throw new TypeError("help was asked for");
  if (!isAboutCredentials(parsed.args)) return "access requests";
  return namedTargets(parsed.args).map((one) => (one.kind === "csr" ? one : one.target));
}

describe("what is to be revoked", () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ["vm-1", "access requests"],
    ["areq/vm-1 accessrequests/vm-2", "access requests"],
    ["accessrequest --all --expect 3", "access requests"],
    ["csr --all --expect 3", "access requests"],
    ["csr/x node/n No/m", [{ kind: "csr", name: "x" }, { user: "system:node:n" }, { user: "system:node:m" }]],
    ["sa/default/robot", [{ user: "system:serviceaccount:default:robot" }]],
    ["serviceaccount/robot -n default", [{ user: "system:serviceaccount:default:robot" }]],
    ["secret/default/robot-token", [{ secret: { namespace: "default", name: "robot-token" } }]],
    ["bootstraptoken/abcdef", [{ bootstrapTokenID: "abcdef" }]],
    ["--token abcdef", [{ bootstrapTokenID: "abcdef" }]],
    ["--user User/ann", [{ user: "User/ann" }]],
    ["--serial serial=00:0A:FF", [{ certificate: { serialNumber: "0aff" } }]],
    ["--serial 0xAFF", [{ certificate: { serialNumber: "0aff" } }]],
    [`--serial 01 --issuer ${fingerprint}`, [{ certificate: { serialNumber: "01", issuer: fingerprint } }]],
    [`--fingerprint SHA256:${"AB:".repeat(31)}AB`, [{ fingerprint }]],
    [`--token X509SHA256=${fingerprint}`, [{ fingerprint }]],
    ["--token 2F0E3C1A-0000-4000-8000-0123456789AB", [{ credentialID: "JTI=2f0e3c1a-0000-4000-8000-0123456789ab" }]],
    ["--token JTI=Any.Text", [{ credentialID: "JTI=Any.Text" }]],
  ];
  test.each(cases)("`revoke %s` is read", (line, expected) => {
    expect(targets(...line.split(" "))).toEqual(expected);
  });

  test.each([
    ["pod/a", '"pod/a" cannot be revoked'],
    ["constructor/a", '"constructor/a" cannot be revoked'],
    ["node/", '"node/" cannot be revoked'],
    ["node/a/b", '"node/a/b" cannot be revoked'],
    ["sa/robot", "names no namespace"],
    ["node/a areq/b", "by commands of their own"],
    ["--user a --all --expect 1", "by commands of their own"],
    ["vm-1 --force", "--force belongs to the revocation of credentials"],
    ["vm-1 --until 2h", "--until belongs to"],
    ["--token abcdef.0123456789abcdef", "its secret belongs on no command line"],
    ["--token eyJ.eyJ.sig", "never the token"],
    ["--serial xyz", "--serial: hexadecimal digits"],
    ["--fingerprint abcd", "as 64 hexadecimal digits"],
    ["--user=", "--user is empty"],
    [`--user a --issuer ${fingerprint}`, "--issuer belongs to --serial"],
  ])("`revoke %s` is refused", (line, message) => {
    expect(() => targets(...line.split(" "))).toThrow(CliError);
    expect(() => targets(...line.split(" "))).toThrow(message);
  });

  test("every spelling of a serial number becomes the one that the API takes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 20 }), (bytes) => {
        fc.pre(bytes[0] !== 0 || bytes.length === 1);
        const hex = Buffer.from(bytes).toString("hex");
        const spelt = hex.toUpperCase().replaceAll(/(..)(?=.)/g, "$1:");
        const [target] = targets(`--serial=${spelt}`) as [{ certificate: { serialNumber: string } }];
        expect(target.certificate.serialNumber).toBe(hex);
        fc.pre(bytes[0] !== 0);
        expect(credentialRevocations.validate?.({ ...revocation, spec: target })).toEqual([]);
      }),
    );
  });
});

const revocation = {
  apiVersion: "access.pratique.dev/v1alpha1",
  kind: "CredentialRevocation",
  metadata: { name: "a" },
};

describe("--until", () => {
  const now = Date.UTC(2026, 10, 21);

  test("is a time or a duration from now", () => {
    expect(untilText("48h", now)).toBe("2026-11-23T00:00:00Z");
    expect(untilText("2026-12-31T01:00:00+01:00", now)).toBe("2026-12-31T00:00:00Z");
  });

  test.each(["", "tomorrow", "0s", "2026-11-20T00:00:00Z", "2026-13-01T00:00:00Z"])("%j is refused", (text) => {
    expect(() => untilText(text, now)).toThrow(CliError);
  });
});
