import { expect, test } from 'bun:test';
import { parseDocument, type YAMLError } from 'yaml';
import { yamlFault } from '../../../src/policy/yaml/messages.ts';
import { shippedPolicy } from '../support.ts';

const errorsOf = (text: string): readonly YAMLError[] => {
  const { errors, warnings } = parseDocument(text, { uniqueKeys: false, prettyErrors: false, schema: 'core' });
  return [...errors, ...warnings];
};
const faultOf = (text: string) => {
  const [first] = errorsOf(text);
  return first && yamlFault(first);
};

test.each([
  ['a: "x" y', 'there is more text after the end of the value'],
  ['a: [1,,2]', 'there is a comma where an entry is expected'],
  ['a: 1\n]', 'this `]` does not close any open bracket'],
  ['a: |x\n  y', 'there is text on the line after `|` or `>`'],
  ['a: - b', 'a list cannot begin on the line of its key'],
  ['a: @x', 'a value cannot begin with `@` unless it is in quotes'],
  ['a: `x`', 'a value cannot begin with a backtick'],
  ['a: {b: 1 c: 2}', 'a comma is missing here, or brackets around an inner map or list'],
  ['a: b: c', 'the value contains `: `, so YAML reads a second key'],
  ['a: ["x" "y"]', 'a comma is missing between two entries'],
  ['a: 1\nport 2\n', 'this line has no colon'],
  ['gateway\n  port: 1', 'this key has no colon on its line'],
  ['a:\n  - b\n  c\n', 'the indentation does not match the lines above'],
  ['a:\n- b\n- c\nd\n', 'this line has no colon'],
  ['a: "x"#c', 'a space is missing before `#`'],
  ['%FOO\na: 1', 'this line of YAML directives is not supported'],
  ['a: "x\\d"', '`\\d` has no meaning in double quotes'],
  ['a: !!foo x', '`!!foo` is a tag, which policies do not support'],
  ['a: &x &y 1', 'policies do not support the YAML features anchors, aliases and tags'],
  ['a:\n\t- b: 1\n', 'a tab indents this line'],
])('%p: %s', (text, message) => {
  expect(faultOf(text)?.message).toBe(message);
});

test('operators never see a message of the YAML library, whatever is wrong with a policy', () => {
  const text =
    shippedPolicy()
      .find(({ path }) => path.endsWith('signalbox.yaml'))
      ?.text.slice(0, 1500) ?? '';
  const signs = ['"', "'", '[', ']', '{', '}', ',', ':', '- ', '#', '&', '*', '!', '|', '%', '@', '\t', '\n', '---\n'];
  let count = 0;
  for (let at = 0; at < text.length; at += 37) {
    for (const sign of ['', ...signs]) {
      for (const error of errorsOf(text.slice(0, at) + sign + text.slice(at + (sign === '' ? 1 : 0)))) {
        count++;
        expect(yamlFault(error).message).not.toBe(error.message);
        expect(yamlFault(error).message).toMatch(/^[a-z`]/);
      }
    }
  }
  expect(count).toBeGreaterThan(150);
});
