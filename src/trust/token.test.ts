import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatToken,
  generateToken,
  isBootstrapGroup,
  isTokenId,
  parseToken,
  requireToken,
  requireTokenId,
  secretsEqual,
  TokenError,
  detachedJws,
  verifyDetachedJws,
} from "./token.ts";

const malformed = {
  "upper case": "ABCDEF.0123456789abcdef",
  "a short secret": "abcdef.0123456789abcde",
  "a long secret": "abcdef.0123456789abcdef0",
  "a final newline": "abcdef.0123456789abcdef\n",
  "a second line": "abcdef.0123456789abcdef\nabcdef.0123456789abcdef",
  "a blank before": " abcdef.0123456789abcdef",
  "a NUL": "abcde\u0000.0123456789abcdef",
  "full-width digits": "abcdef.\uff10123456789abcdef",
  "a dotless i": "abcdef.0123456789abcde\u0131",
  "another separator": "abcdef-0123456789abcdef",
  nothing: "",
};

describe("token text", () => {
  it("reads id and secret", () => {
    expect(parseToken("abcdef.0123456789abcdef")).toEqual({ id: "abcdef", secret: "0123456789abcdef" });
    expect(formatToken(requireToken("abcdef.0123456789abcdef"))).toBe("abcdef.0123456789abcdef");
  });

  it.each(Object.entries(malformed))("refuses %s", (_name, text) => {
    expect(parseToken(text)).toBeUndefined();
    expect(() => requireToken(text)).toThrow(TokenError);
  });

  it("does not repeat a malformed token in the error", () => {
    expect(() => requireToken("abcdef.SECRETSECRET0000")).toThrow(/^(?!.*SECRET)/);
  });

  it("takes an id or a full token where an id is wanted", () => {
    expect(requireTokenId("abcdef")).toBe("abcdef");
    expect(requireTokenId("abcdef.0123456789abcdef")).toBe("abcdef");
    expect(() => requireTokenId("abcdef.")).toThrow(TokenError);
    expect(isTokenId("abcdef\n")).toBe(false);
  });

  it("accepts exactly what the pattern describes", () => {
    const text = fc.stringMatching(/^[a-z0-9]{5,7}\.[a-z0-9]{15,17}$/);
    fc.assert(
      fc.property(text, (one) => {
        expect(parseToken(one) !== undefined).toBe(one.indexOf(".") === 6 && one.length === 23);
      }),
    );
  });
});

describe("groups of a token", () => {
  it.each([
    "system:bootstrappers:a",
    "system:bootstrappers:kubeadm:default-node-token",
    `system:bootstrappers:${"a".repeat(256)}`,
  ])("accepts %s", (group) => expect(isBootstrapGroup(group)).toBe(true));

  it.each([
    "system:bootstrappers",
    "system:bootstrappers:",
    "system:bootstrappers:a:",
    "system:bootstrappers:a-",
    "system:bootstrappers:A",
    "system:bootstrappers:a\n",
    " system:bootstrappers:a",
    "system:masters",
    "xsystem:bootstrappers:a",
    `system:bootstrappers:${"a".repeat(257)}`,
    "",
  ])("refuses %j", (group) => expect(isBootstrapGroup(group)).toBe(false));
});

describe("generateToken", () => {
  it("maps bytes modulo 36 and discards those of 252 and above", () => {
    const bytes = [0, 9, 10, 35, 36, 251, 252, 253, 254, 255, ...Array.from({ length: 40 }, () => 1)];
    let at = 0;
    const random = (size: number): Uint8Array => Uint8Array.from(bytes.slice(at, (at += size)));
    expect(formatToken(generateToken(random))).toBe("09az0z.1111111111111111");
  });

  it("makes a valid token of any random source", () => {
    const sources = fc.infiniteStream(fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(sources, (stream) => {
        const token = generateToken((size) => Uint8Array.from(stream.take(size)));
        expect(parseToken(formatToken(token))).toEqual(token);
      }),
    );
  });

  it("gives up on a source without usable bytes", () => {
    expect(() => generateToken((size) => new Uint8Array(size).fill(255))).toThrow(TypeError);
    expect(() => generateToken(() => new Uint8Array(0))).toThrow(TypeError);
  });
});

describe("secretsEqual", () => {
  it("compares texts of any length", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(secretsEqual(one, other)).toBe(one === other);
        expect(secretsEqual(one, one)).toBe(true);
      }),
    );
  });

  it("takes a prefix for no match", () => {
    expect(secretsEqual("0123456789abcdef", "0123456789abcde")).toBe(false);
    expect(secretsEqual("", "0")).toBe(false);
  });
});

const token = { id: "abcdef", secret: "0123456789abcdef" };

/** The worked example of the contract: 190 bytes with the final newline. */
const kubeconfig = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Q0EK
    server: https://10.0.0.1:6443
  name: ""
contexts: []
current-context: ""
kind: Config
preferences: {}
users: []
`;

describe("detachedJws", () => {
  const joshua = { id: "joshua", secret: "my voice is my passcode" };
  const hello = "Hello from the other side. I must have called a thousand times.";
  const header = "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9";

  it("gives the vectors of Kubernetes", () => {
    expect(detachedJws(hello, joshua)).toBe(`${header}..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8`);
    expect(detachedJws("", joshua)).toBe(`${header}..7Ui1ALizW4jXphVUB7xUqC9vLYLL9RZeOFfVLoB7Tgk`);
    expect(detachedJws(hello, { id: "joshua", secret: "" })).toBe(
      `${header}..UfkqvDGiIFxrMnFseDj9LYJOLNrvjW8aHhF71mvvAs8`,
    );
  });

  it("gives the worked example", () => {
    expect(Buffer.byteLength(kubeconfig)).toBe(190);
    expect(detachedJws(kubeconfig, token)).toBe(
      "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..oVtHGXYhJs497hWBYqk5siu_oZ6Tte0IqTHj9rZEf7c",
    );
  });
});

describe("verifyDetachedJws", () => {
  const good = detachedJws(kubeconfig, token);
  const other = (header: string): string =>
    `${Buffer.from(header).toString("base64url")}${good.slice(good.indexOf("."))}`;

  it("accepts its own signature", () => expect(verifyDetachedJws(good, kubeconfig, token)).toBe(true));

  it.each([
    ["algorithm none", other('{"alg":"none","kid":"abcdef"}')],
    ["a header in another order", other('{"kid":"abcdef","alg":"HS256"}')],
    ["a header with typ", other('{"alg":"HS256","kid":"abcdef","typ":"JWT"}')],
    ["an attached payload", good.replace("..", `.${Buffer.from(kubeconfig).toString("base64url")}.`)],
    ["padding", `${good}=`],
    ["a final newline", `${good}\n`],
    ["no signature", good.slice(0, good.lastIndexOf(".") + 1)],
    ["a cut signature", good.slice(0, -1)],
    ["nothing", ""],
  ])("refuses %s", (_name, jws) => expect(verifyDetachedJws(jws, kubeconfig, token)).toBe(false));

  it("refuses content that lost its last newline", () => {
    expect(verifyDetachedJws(good, kubeconfig.trimEnd(), token)).toBe(false);
  });

  it("refuses every other content, secret and id", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (content, secret) => {
        const jws = detachedJws(content, { id: "abcdef", secret });
        expect(verifyDetachedJws(jws, content, { id: "abcdef", secret })).toBe(true);
        expect(verifyDetachedJws(jws, `${content} `, { id: "abcdef", secret })).toBe(false);
        expect(verifyDetachedJws(jws, content, { id: "abcdef", secret: `${secret}a` })).toBe(false);
        expect(verifyDetachedJws(jws, content, { id: "abcdeg", secret })).toBe(false);
      }),
    );
  });
});
