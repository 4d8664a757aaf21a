// Certificate requests and certificates a second of processor time, on one core.
import { randomBytes, X509Certificate, type KeyObject } from "node:crypto";
import { createCa } from "../../src/pki/ca.ts";
import { issueCertificate } from "../../src/pki/certificate.ts";
import { createCsr, parseCsr, readVerifiedCsr, type CsrContents } from "../../src/pki/csr.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { parseCertificate } from "../../src/pki/parse-certificate.ts";
import { isQuick, perCpuSecond, print, rounded } from "./measure.mts";

const hour = 3_600_000;
const usages = ["digital signature", "client auth"];
const now = Date.now();
const issuer = createCa({ commonName: "bench", key: generatePrivateKey(), now, years: 10, random: randomBytes });

// Different keys and subjects, as from different machines.
const machines = Array.from({ length: isQuick() ? 64 : 512 }, (_, index) => {
  const key: KeyObject = generatePrivateKey();
  const pem = createCsr({ key, commonName: `system:node:machine-${index}`, organizations: ["system:nodes"] });
  return { key, pem, contents: readVerifiedCsr(pem) };
});

function machineAt(index: number): (typeof machines)[number] {
  const machine = machines[index % machines.length];
  if (machine === undefined) throw new RangeError("no machines");
  return machine;
}

function issue({ rawSubject, spki, rawSans }: CsrContents): { readonly der: Uint8Array; readonly pem: string } {
  const validity = { notBefore: now - hour, notAfter: now + 365 * 24 * hour };
  return issueCertificate({ issuer, rawSubject, spki, rawSans, usages, ...validity, serial: randomBytes(16) });
}

const { der } = issue(machineAt(0).contents);
const loads: Readonly<Record<string, (index: number) => unknown>> = {
  "make a key": () => generatePrivateKey(),
  "make a request": (index) => createCsr({ key: machineAt(index).key, commonName: `system:node:machine-${index}` }),
  "read and verify a request": (index) => parseCsr(machineAt(index).pem),
  "read a verified request": (index) => readVerifiedCsr(machineAt(index).pem),
  "issue a certificate": (index) => issue(machineAt(index).contents),
  "verify and issue": (index) => issue(parseCsr(machineAt(index).pem)),
  "read a certificate": () => parseCertificate(der),
  "read a certificate, OpenSSL": () => new X509Certificate(der),
};
for (const [name, work] of Object.entries(loads)) {
  print({ bench: "csr", name, perCpuSecond: rounded(await perCpuSecond(work, isQuick() ? 50 : 300)) });
}
