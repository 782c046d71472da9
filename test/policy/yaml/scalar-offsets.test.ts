import { describe, expect, test } from 'bun:test';
import { brief, loadText, SMALL } from '../support.ts';

/** Expressions in every YAML style, with the location of their wrong field. `SMALL` has 13 lines. */
describe('a location inside an expression is the correct location in the file:', () => {
  const head = 'constraints:\n  - name: rule\n    max_cost_credits: 5\n';
  const cases: readonly (readonly [string, string])[] = [
    ['plain', '    when: request.stream && request.oops\n'],
    ['plain over lines', '    when: request.stream\n      && request.oops\n'],
    ['plain with an empty line', '    when: request.stream\n\n      && request.oops\n'],
    ['single quotes', "    when: 'request.user == \"it''s\" && request.oops'\n"],
    ['single quotes over lines', "    when: 'request.stream\n      && request.oops'\n"],
    ['double quotes', '    when: "request.user == \\"a\\\\tb\\" && request.oops"\n'],
    ['double quotes with numeric escapes', '    when: "request.user == \'\\x41\\u00e9\\U0001F686\' && request.oops"\n'],
    ['double quotes with an escaped line break', '    when: "request.stream \\\n      && request.oops"\n'],
    ['double quotes with a written line break', '    when: "request.stream\\n && request.oops"\n'],
    ['literal block', '    when: |\n      request.stream\n        && request.oops\n'],
    ['literal block, kept and indented', '    when: |2+ # why\n        request.stream\n         && request.oops\n\n'],
    ['folded block', '    when: >-\n      request.stream\n      && request.oops\n'],
    ['folded block with an empty line', '    when: >\n\n      request.stream\n\n      && request.oops\n'],
    ['windows line ends', '    when: |\r\n      request.stream\r\n      && request.oops\r\n'],
    ['wide characters before it', '    when: request.user == "日本🚆" && request.oops\n'],
    ['in a flow map', '  - { name: other, max_cost_credits: 5, when: "request.stream && request.oops" }\n'],
  ];
  test.each(cases)('%s', (_, lines) => {
    const text = SMALL + head + lines;
    const offset = text.indexOf('oops');
    const line = text.slice(0, offset).split('\n').length;
    const column = offset - text.lastIndexOf('\n', offset);
    const result = loadText(text);
    expect(result.diagnostics.map(brief)).toEqual([`${line}:${column} cel-unknown-field`]);
    expect(result.diagnostics[0]?.length).toBe(4);
  });
});
