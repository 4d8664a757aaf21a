import { expect, it } from "vitest";
import type { UserInfo } from "../apimachinery/user.ts";
import type { AuthorizationQuestion } from "../policy/kubernetes/authorizer-functions.ts";
import { cachingAuthorizer } from "./expression-inputs.ts";

const question: AuthorizationQuestion = {
  verb: "get",
  group: "",
  resource: "pods",
  subresource: "",
  namespace: "ns",
  name: "",
};
const user: UserInfo = { username: "u", groups: [] };

it("a question is put once, however often it is asked, and to whom it is about", async () => {
  const put: string[] = [];
  const authorizer = cachingAuthorizer(async ({ username }, { verb }) => {
    put.push(`${username} ${verb}`);
    return { allowed: verb === "get", reason: "" };
  }, user);
  const other = { ...question, account: { namespace: "a", name: "b" } };
  const verdict = await authorizer.settled(async () => [
    authorizer.ask(question),
    authorizer.ask({ ...question }),
    authorizer.ask(other),
  ]);
  expect(verdict.map((answer) => answer?.allowed)).toEqual([true, true, true]);
  expect(put).toEqual(["u get", "system:serviceaccount:a:b get"]);
});

it("questions that follow from answers are put as well", async () => {
  const authorizer = cachingAuthorizer(async (_user, { verb }) => ({ allowed: true, reason: verb }), user);
  const verdict = await authorizer.settled(async () =>
    authorizer.ask(question)?.allowed === true ? authorizer.ask({ ...question, verb: "list" })?.reason : undefined,
  );
  expect(verdict).toBe("list");
});

it("questions without end are given up, and what is open stays unanswered", async () => {
  let count = 0;
  const authorizer = cachingAuthorizer(async () => ({ allowed: true, reason: "" }), user);
  const verdict = await authorizer.settled(async () => {
    count += 1;
    return authorizer.ask({ ...question, name: `n${count}` });
  });
  expect(verdict).toBeUndefined();
  expect(count).toBe(32);
});

it("a question that differs in anything is another one", async () => {
  const authorizer = cachingAuthorizer(async (_user, { name }) => ({ allowed: name === "", reason: "" }), user);
  await authorizer.settled(async () => authorizer.ask(question));
  for (const changed of [{ name: "x" }, { verb: "list" }, { path: "/x" }, { account: { namespace: "a", name: "b" } }]) {
    expect(authorizer.ask({ ...question, ...changed })).toBeUndefined();
  }
});
