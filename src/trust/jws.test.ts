import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { detachedJws, verifyDetachedJws } from "./jws.ts";

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
