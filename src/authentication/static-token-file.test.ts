import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCsv, parseTokenFile, staticTokens, TokenFileError } from "./static-token-file.ts";

async function userOf(text: string, token: string): Promise<unknown> {
  return staticTokens(parseTokenFile(text))(token);
}

describe("parseTokenFile", () => {
  it("reads user, uid and groups", async () => {
    const text = 'secret1,alice,u1,"admins,devs"\r\n\r\nsecret2,bob,,devs,ignored\nsecret3,carol,u3';
    await expect(userOf(text, "secret1")).resolves.toEqual({
      kind: "authenticated",
      user: { username: "alice", uid: "u1", groups: ["admins", "devs"] },
    });
    await expect(userOf(text, "secret2")).resolves.toEqual({
      kind: "authenticated",
      user: { username: "bob", groups: ["devs"] },
    });
    await expect(userOf(text, "secret3")).resolves.toMatchObject({ user: { groups: [] } });
  });

  it("lets the last of two equal tokens count, and warns without naming it", async () => {
    const text = "secret,alice,1\nsecret,bob,2\n";
    await expect(userOf(text, "secret")).resolves.toMatchObject({ user: { username: "bob" } });
    const { warnings } = parseTokenFile(text);
    expect(warnings).toEqual([expect.stringContaining("line 2")]);
    expect(warnings.join()).not.toContain("secret");
  });

  it("skips a record without a token, and warns", () => {
    const file = parseTokenFile(',alice,1\n"",bob,2\n');
    expect(file.users.size).toBe(0);
    expect(file.warnings).toHaveLength(2);
  });

  it.each([
    ["fewer than 3 columns", "a,b,c\nd,SECRET\n", "columns", 2],
    ["an empty user", "\n\nSECRET,,1\n", "user", 3],
    ["a quote in a bare field", 'a,b,c\nSEC"RET,b,c\n', "malformed", 2],
    ["a quoted field without end", 'a,b,c\n"SECRET,b,c\n', "malformed", 2],
    ["text after a quoted field", '"a\nb",u,i\n"SECRET"x,b,c\n', "malformed", 3],
  ] as const)("refuses %s and names the line, not the token", (_name, text, code, line) => {
    expect(() => parseTokenFile(text)).toThrow(expect.objectContaining({ code, line }));
    expect(() => parseTokenFile(text)).toThrow(new RegExp(`^token file, line ${line}: (?!.*SEC)`));
  });

  it("throws TokenFileError or gives users with names, for any text", () => {
    const unit = fc.constantFrom("a", ",", '"', "\n", "\r", " ", "\u0000", "ü");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
        const outcome = attempt(text);
        expect(outcome === undefined || outcome.every((name) => name !== "")).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe("staticTokens", () => {
  it.each(["", "secre", "secret ", "SECRET", "secret\u0000", "__proto__", "constructor"])(
    "does not know %j",
    async (token) => {
      await expect(userOf("secret,alice,1\n", token)).resolves.toEqual({ kind: "absent" });
    },
  );
});

describe("parseCsv", () => {
  it("reads back any fields that were quoted", () => {
    const rows = fc.array(
      fc.array(fc.string({ unit: fc.constantFrom("a", ",", '"', "\n", " ") }), { minLength: 1, maxLength: 4 }),
    );
    fc.assert(
      fc.property(rows, (table) => {
        const text = table.map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`).join(",")).join("\n");
        const result = parseCsv(text);
        expect(result.kind === "parsed" && result.records.map((record) => record.fields)).toEqual(table);
      }),
    );
  });

  it("counts lines through quoted newlines", () => {
    expect(parseCsv('"a\n\nb",c\n\nd\n')).toEqual({
      kind: "parsed",
      records: [
        { line: 1, fields: ["a\n\nb", "c"] },
        { line: 5, fields: ["d"] },
      ],
    });
  });
});

function attempt(text: string): readonly string[] | undefined {
  try {
    return [...parseTokenFile(text).users.values()].map((user) => user.username);
  } catch (error) {
    if (error instanceof TokenFileError) {
      return undefined;
    }
    throw error;
  }
}
