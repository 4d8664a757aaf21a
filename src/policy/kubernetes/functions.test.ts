import { describe, expect, test } from "vitest";
import { CelError } from "../cel/cel-error.ts";
import { compileCel } from "../cel/compile.ts";
import { celToJson } from "../cel/convert.ts";
import { kubernetesFunctions } from "./compile-kubernetes-cel.ts";

function evaluated(source: string): unknown {
  const program = compileCel(source, { variables: {}, functions: kubernetesFunctions });
  const result = program.evaluate({}, { budget: 1_000_000 });
  return "error" in result ? { error: result.error } : celToJson(result.value);
}

describe("expressions with the functions of Kubernetes", () => {
  test.each([
    "quantity('1.5G').isGreaterThan(quantity('1G'))",
    "quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')",
    "quantity('50k').asInteger() == 50000 && quantity('0.5').asApproximateFloat() == 0.5",
    "quantity('-1').sign() == -1 && quantity('1k').isInteger() && quantity('1').compareTo(quantity('2')) == -1",
    "isQuantity('1.3Gi') && !isQuantity('1,3G')",
    "ip('::1').family() == 6 && ip('127.0.0.1').isLoopback() && !isIP('127.0.0.256')",
    "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')",
    "string(ip('2001:DB8::1')) == '2001:db8::1' && ip('::1') == ip('0:0:0:0:0:0:0:1')",
    "cidr('192.168.0.0/24').containsIP('192.168.0.1') && cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))",
    "cidr('192.168.0.0/24').containsCIDR('192.168.0.0/25') && !cidr('192.168.0.0/24').containsCIDR(cidr('10.0.0.0/8'))",
    "cidr('192.168.1.7/24').masked() == cidr('192.168.1.0/24') && cidr('::/0').prefixLength() == 0",
    "type(ip('::1')) == net.IP && type(cidr('::/0')) == net.CIDR && type(ip('::1')) != net.CIDR",
    "type(quantity('1')) == kubernetes.Quantity && type(url('/a')) == kubernetes.URL",
    "cidr('192.168.1.7/24').ip() == ip('192.168.1.7') && isCIDR('::/0') && !isCIDR('::')",
    "url('https://a:80/b?c=1&c=2').getQuery()['c'] == ['1', '2'] && url('/x').getHost() == ''",
    "url('https://[::1]:80/').getHostname() == '::1' && isURL('/a') && !isURL('../a')",
    "semver('1.2.3').major() == 1 && semver('v1.2', true).minor() == 2 && !isSemver('v1.0.0')",
    "semver('1.0.0-alpha').isLessThan(semver('1.0.0')) && semver('1.0.0+a') == semver('1.0.0+b')",
    "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('x') == ''",
    "'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && '123 abc 456'.findAll('[0-9]+', 1) == ['123']",
    "'abc'.findAll('', 2) == ['', ''] && 'a1b'.findAll('[0-9]*') == ['', '1', '']",
    "[1, 2, 2].isSorted() && ![2.0, 1.0].isSorted() && ['a', 'b'].isSorted() && [1].isSorted()",
    "[1, 2, 3].sum() == 6 && [1.0, 0.5].sum() == 1.5 && [duration('1m'), duration('1s')].sum() == duration('61s')",
    "[1, 3].min() == 1 && ['a', 'c', 'b'].max() == 'c' && [true, false].min() == false",
    "lists.range(4) == [0, 1, 2, 3] && lists.range(0) == [] && lists.range(-1) == []",
    "[5, 1, 2].reverse() == [2, 1, 5] && [1, 2, 3, 4].slice(1, 3) == [2, 3] && [1].slice(1, 1) == []",
    "[[1], [2, 3], []].flatten() == [1, 2, 3] && dyn([1, [2, [3, [4]]]]).flatten(2) == [1, 2, 3, [4]]",
    "[1, 'b', 1, {'a': 1}, {'a': 1}, 1.5, 1.5].map(x, dyn(x)).distinct().size() == 4",
    "[4, 3, 1].sort() == [1, 3, 4] && ['b', 'a'].sort() == ['a', 'b'] && [].sort() == []",
    "[-3, 1, -5].sortBy(e, -(e * e)) == [-5, -3, 1] && ['x', 'first'].sortBy(e, e == 'first' ? '' : e) == ['first', 'x']",
    "[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && ![].first().hasValue()",
    "[1, 2, 2, 3].indexOf(2) == 1 && [1, 2, 2].lastIndexOf(2) == 2 && ['a'].indexOf('b') == -1",
  ])("%s", (source) => {
    expect(evaluated(source)).toBe(true);
  });

  test.each([
    "!format.dns1123Label().validate('my-label').hasValue()",
    "format.dns1123Label().validate('-').value().size() == 1",
    "format.named('uri').value().validate('/a') == optional.none()",
    "format.named('nope') == optional.none()",
  ])("%s", (source) => {
    expect(evaluated(source)).toBe(true);
  });

  test.each([
    ["[1, 2].slice(1, 3)", "cannot slice(1, 3), list is length 2"],
    ["[1, 2].slice(2, 1)", "cannot slice(2, 1), start index must be less than or equal to end index"],
    ["[1, 2].slice(-1, 1)", "cannot slice(-1, 1), negative indexes not supported"],
    ["[dyn(1), dyn('a')].sort()", "list elements must have the same type"],
    ["[[1], [2]].sort()", "list elements must be comparable"],
    ["lists.range(1000000000000)", "operation cancelled: actual cost limit exceeded"],
    ["quantity('Three')", "quantities must match the regular expression"],
    ["quantity('1.5').asInteger()", "cannot convert value to integer"],
    ["ip('127.0.0.256')", 'IP Address "127.0.0.256" parse error during conversion from string'],
    ["cidr('10.0.0.0/8').containsIP('nope')", 'IP Address "nope" parse error'],
    ["url('../a')", 'URL parse error during conversion from string: parse "../a": invalid URI for request'],
    ["semver('1')", "No Major.Minor.Patch elements found"],
    ["[1].filter(x, x > 1).min()", "min called on empty list"],
    ["'a'.find('(' + '')", "Illegal regex"],
    ["'a'.find('(?=a)' + '')", "Illegal regex"],
    ["[9223372036854775807, 1].sum()", "integer overflow"],
  ])("%s fails", (source, error) => {
    expect(evaluated(source)).toEqual({ error: expect.stringContaining(error) });
  });

  test.each(["quantity(1)", "ip('::1') == cidr('::/0')", "[ip('::1')].isSorted()", "format.nope()", "['a'].sum()"])(
    "%s is refused by its types",
    (source) => {
      expect(() => compileCel(source, { variables: {}, functions: kubernetesFunctions })).toThrow(CelError);
    },
  );

  test("a pattern that would backtrack is searched in linear time", () => {
    expect(evaluated(`'${"a".repeat(5_000)}'.find('(a+)+$') != ''`)).toBe(true);
  });
});

describe("searches that each read to the end of the text for a match at its beginning", () => {
  const text = (length: number): string => `'${"x".repeat(length)}'`;

  test("cost what they read", () => {
    const exceeded = { error: "operation cancelled: actual cost limit exceeded" };
    expect(evaluated(`${text(20_000)}.findAll('x*y|x').size()`)).toEqual(exceeded);
    expect(evaluated(`lists.range(1000).all(i, ${text(400)}.findAll('x*?y|x').size() > i * 0)`)).toEqual(exceeded);
  });

  test.each(["x", "[a-z]+", "(x)(x)", "\\\\w", "x{1,50}"])("and others cost no more than before: %s", (pattern) => {
    expect(evaluated(`${text(90_000)}.findAll('${pattern}').size() > 0`)).toBe(true);
  });
});

test.each(["sort().size() > 0", "sortBy(e, e).size() > 0", "max() != ''", "min() != ''", "isSorted()"])(
  "a long text that stands many times in a list is paid for each time that it is compared: %s",
  (call) => {
    const source = `lists.range(20000).map(i, '${"x".repeat(90_000)}').${call}`;
    expect(evaluated(source)).toEqual({ error: "operation cancelled: actual cost limit exceeded" });
  },
);
