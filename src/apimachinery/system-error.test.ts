import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemErrorText, systemErrorWords, type SystemOperation } from "./system-error.ts";

function failed(code: string, message = code): Error {
  return Object.assign(new TypeError(message), { code });
}

const at: Readonly<Record<SystemOperation, string>> = {
  connect: "https://hub.test:6443",
  read: "/etc/hub.conf",
  write: "/var/lib/hub",
  listen: "127.0.0.1:6443",
  start: "/opt/get-token",
};

/** What can happen to each operation, and words that its sentence must hold. */
const table: readonly (readonly [SystemOperation, string, string])[] = [
  ["connect", "ECONNREFUSED", "nothing listens at"],
  ["connect", "ENOTFOUND", "cannot be resolved"],
  ["connect", "EAI_AGAIN", "DNS of this machine gives no answer"],
  ["connect", "EAI_FAIL", "cannot be resolved"],
  ["connect", "ETIMEDOUT", "does not answer"],
  ["connect", "EHOSTUNREACH", "no route"],
  ["connect", "ENETUNREACH", "no route"],
  ["connect", "ECONNRESET", "closed the connection"],
  ["connect", "EPIPE", "closed the connection"],
  ["connect", "EACCES", "may not connect"],
  ["connect", "EMFILE", "too many files"],
  ["connect", "EPROTO", "does not speak HTTPS"],
  ["connect", "ERR_SSL_WRONG_VERSION_NUMBER", "does not speak HTTPS"],
  ["connect", "HPE_INVALID_CONSTANT", "does not speak HTTPS"],
  ["connect", "SELF_SIGNED_CERT_IN_CHAIN", "not signed by the CA"],
  ["connect", "DEPTH_ZERO_SELF_SIGNED_CERT", "not signed by the CA"],
  ["connect", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "not signed by the CA"],
  ["connect", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "not signed by the CA"],
  ["connect", "CERT_SIGNATURE_FAILURE", "not signed by the CA"],
  ["connect", "CERT_HAS_EXPIRED", "has expired"],
  ["connect", "CERT_NOT_YET_VALID", "not valid yet"],
  ["connect", "ERR_TLS_CERT_ALTNAME_INVALID", "not valid for that name"],
  ["connect", "ERR_OSSL_X509_KEY_VALUES_MISMATCH", "cannot be used"],
  ["read", "ENOENT", "does not exist"],
  ["read", "ENOTDIR", "does not exist"],
  ["read", "EACCES", "may not read"],
  ["read", "EPERM", "may not read"],
  ["read", "EISDIR", "is a folder"],
  ["read", "ELOOP", "symbolic links"],
  ["read", "EIO", "the disk fails"],
  ["read", "EMFILE", "too many files"],
  ["write", "ENOENT", "the folder of"],
  ["write", "EACCES", "may not write"],
  ["write", "EPERM", "may not write"],
  ["write", "EROFS", "read-only"],
  ["write", "ENOSPC", "no room left"],
  ["write", "EDQUOT", "quota"],
  ["write", "EISDIR", "is a folder"],
  ["write", "ENOTDIR", "no folder"],
  ["write", "EEXIST", "exists already"],
  ["write", "EIO", "the disk fails"],
  ["listen", "EADDRINUSE", "in use by another program"],
  ["listen", "EADDRNOTAVAIL", "no interface of this machine"],
  ["listen", "EACCES", "may not listen"],
  ["listen", "ENOTFOUND", "cannot be resolved"],
  ["listen", "EAFNOSUPPORT", "kind of address"],
  ["start", "ENOENT", "does not exist"],
  ["start", "EACCES", "may not run"],
  ["start", "ENOEXEC", "no program for this machine"],
  ["start", "E2BIG", "too long"],
  ["start", "EAGAIN", "no more processes"],
];

describe("an error of the system", () => {
  it.each(table)("while it does %s: %s is a sentence with the place and the next step", (operation, code, words) => {
    const reported = systemErrorWords(failed(code), { operation, at: at[operation] });
    expect(reported.what).toContain(words);
    expect(reported.what).toContain(at[operation]);
    expect(reported.next).not.toBe("");
    expect(systemErrorText(failed(code), { operation, at: at[operation] })).not.toContain(code);
  });

  it("that is not known is told by its description, without code and call", () => {
    const error = failed("EXYZ", "EXYZ: something odd, open '/etc/hub.conf'");
    expect(systemErrorText(error, { operation: "read", at: "/etc/hub.conf" })).toBe(
      "/etc/hub.conf cannot be read: something odd: see the log of the system",
    );
    expect(systemErrorText(failed("EXYZ"), { operation: "start", at: "x" })).toBe(
      "x cannot be started: see the log of the system",
    );
  });

  it("names its place to the letter, and never shows a code", () => {
    const operations = fc.constantFrom<SystemOperation[]>("connect", "read", "write", "listen", "start");
    const codes = fc.oneof(fc.constantFrom(...table.map(([, code]) => code)), fc.stringMatching(/^E[A-Z]{4,8}$/));
    fc.assert(
      fc.property(operations, codes, fc.constantFrom("$&", "/a b/$1", "x"), (operation, code, place) => {
        const text = systemErrorText(failed(code, `${code}: some words, open '${place}'`), { operation, at: place });
        expect(text).toContain(place);
        expect(text).not.toContain(code);
      }),
    );
  });
});
