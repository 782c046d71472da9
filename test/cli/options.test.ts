import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { processArguments } from '../../src/admin/use-cases/serve-options.ts';
import { everyHelp } from '../../src/cli/all-help.ts';
import { DATA } from '../../src/cli/command-help.ts';
import { helpOf } from '../../src/cli/help.ts';
import { parseCommand } from '../../src/cli/options.ts';
import { unknownCommand } from '../../src/cli/unknown-command.ts';
import { UsageError } from '../../src/core/usage-error.ts';
import { policiesAt } from '../support/policies.ts';

const HELP = await everyHelp();

type Environment = Readonly<Record<string, string>>;

const parse = (args: readonly string[], env: Environment = {}) => parseCommand(args, env, policiesAt('/shipped'));

test('an unknown command suggests the most similar command and lists all commands', () => {
  expect(unknownCommand('policy', 'chek').message).toBe(
    'There is no command `policy chek`. Did you mean `policy check`? The commands of policy are check, test, explain, diff, schema, push, history or rollback. See ./signalbox help policy.',
  );
  expect(unknownCommand('keys').message).toMatch(
    /^The commands of keys are create, .* or log\. See \.\/signalbox help keys\.$/,
  );
});

test.each([
  ['', 'validate', 'policy check'],
  ['', 'lint', 'policy check'],
  ['', 'logs', 'decisions list'],
  ['', 'log', 'decisions list'],
  ['', 'apply', 'policy push'],
  ['', 'plan', 'policy diff'],
  ['', 'start', 'serve'],
  ['', 'run', 'serve'],
  ['', 'config', 'policy check'],
  ['', 'models', 'policy explain'],
  ['', 'ps', 'instances'],
  ['', 'status', 'health'],
  ['', 'login', 'keys create'],
  ['policy', 'validate', 'policy check'],
  ['policy', 'apply', 'policy push'],
  ['keys', 'ls', 'keys list'],
  ['keys', 'delete', 'keys revoke'],
  ['teams', 'rm', 'teams delete'],
  ['users', 'add', 'users create'],
  ['policy', 'get', 'policy history'],
])(
  'a command name of another tool suggests the Signalbox command that does the same: %s %s',
  (group, word, command) => {
    expect(unknownCommand(group, word).message).toContain(`Did you mean \`${command}\`?`);
  },
);

test.each([
  ['keys', 'new', 'keys create'],
  ['keys', 'add', 'keys create'],
  ['keys', 'ls', 'keys list'],
  ['keys', 'delete', 'keys revoke'],
  ['users', 'add', 'users create'],
  ['decisions', 'ls', 'decisions list'],
])(
  'a command name of another tool within a group is recognized before a database is opened: %s %s',
  (group, word, command) => {
    expect(() => parse([group, word, '--data', '/no/such/folder'])).toThrow(`Did you mean \`${command}\`?`);
  },
);

test('every command of every group is accepted before a database is opened', () => {
  for (const command of Object.keys(HELP))
    expect(() => parse([...command.split(' '), '--data', '/a'])).not.toThrow(/The commands of/);
});

test.each([
  ['', 'stop', 'SIGTERM stops a server'],
  ['policy', 'fmt', '`npx prettier --write policies`'],
])(
  'a command name of another tool that Signalbox does not need prints what to do instead: %s %s',
  (group, word, instead) => {
    const { message } = unknownCommand(group, word);
    expect(message).toContain(instead);
    expect(message).not.toContain('Did you mean');
  },
);

test('a command name of another tool gets no suggestion if the group has no such command', () => {
  expect(unknownCommand('ledger', 'apply').message).not.toContain('Did you mean');
});

describe('an invalid command line is refused in one sentence:', () => {
  const cases: readonly (readonly [what: string, args: readonly string[], message: RegExp, env?: Environment])[] = [
    [
      'an unknown flag',
      ['serve', '--prot', '1'],
      /^Unknown option '--prot'\. Did you mean `--port`\? See \.\/signalbox help\.$/,
    ],
    ['an unknown flag that is similar to no known flag', ['serve', '--verbose'], /^Unknown option '--verbose'\. See/],
    ['a flag at the end without its value', ['serve', '--port'], /^--port needs a value\./],
    ['a flag before another flag', ['serve', '--port', '--host', 'x'], /^--port needs a value\./],
    ['a flag without its value', ['serve', '--data'], /--data/],
    ['a flag in the place of a value', ['serve', '--data', '--port', '1'], /--data/],
    [
      'an unknown command',
      ['sevre'],
      /no command `sevre`\. Did you mean `serve`\? The commands of Signalbox are serve, init, restart, health, policy, /,
    ],
    ['a command without its group', ['explain'], /no command `explain`\. Did you mean `policy explain`\?/],
    [
      'an unknown command that is similar to no known command',
      ['frobnicate'],
      /no command `frobnicate`\. The commands of Signalbox are serve, /,
    ],
    ['a port that is not a number', ['serve', '--port', '70000'], /port must be a number from 0 to 65535/],
    ['a port variable that is not a number', ['serve'], /port must be a number/, { PORT: 'abc' }],
    ['a drain time that is not a number', ['serve', '--drain-ms', 'soon'], /drain time/],
    ['a switch that is neither on nor off', ['serve', '--metrics', 'maybe'], /on or off, not "maybe"/],
    ['a flag given twice', ['serve', '--port', '1', '--port=2'], /--port is given twice; give it once/],
    ['a folder given twice', ['policy', 'check', '--data', 'a', '--data', 'b'], /--data is given twice/],
    [
      'a data folder that is a URL',
      ['keys', 'list', '--data', 'postgres://u:hunter2@h/db'],
      /must be a path.* not a postgres URL; set DATABASE_URL to name a database/,
    ],
    [
      'a data folder that is a URL of SQLite',
      ['serve', '--data=sqlite:///var/lib/x'],
      /must be a path.* not a sqlite URL/,
    ],
    [
      'a data variable that is a URL',
      ['serve'],
      /no store for mysql URLs/,
      { SIGNALBOX_DATA: 'mysql://u:hunter2@h/db' },
    ],
    ...['0', '-1', '1000', '129', 'abc', '1.5'].map(
      (count) =>
        [
          `a number of processes that is ${count}`,
          ['serve', '--processes', count],
          new RegExp(`^--processes must be a whole number from 1 to 64, not "${count}"\\.$`),
        ] as const,
    ),
    [
      'a number of processes in a variable',
      ['serve'],
      /^--processes must be a whole number from 1 to 64, not "many"\.$/,
      { SIGNALBOX_PROCESSES: 'many' },
    ],
    [
      'a metrics port that equals the port of requests',
      ['serve', '--processes', '2', '--port', '8787', '--metrics-port', '8787'],
      /^--metrics-port must differ from --port\.$/,
      { DATABASE_URL: 'postgres://a@b/c' },
    ],
    ['an unknown log format', ['serve', '--log', 'xml'], /auto, json, pretty or off, not "xml"/],
    ['an unknown log format in a variable', ['serve'], /auto, json, pretty or off/, { SIGNALBOX_LOG: 'loud' }],
  ];
  for (const [what, args, message, env] of cases) {
    test(what, () => {
      const refused = expect(() => parse(args, env));
      refused.toThrow(UsageError);
      refused.toThrow(message);
      refused.toThrow(/^[^\n]+\.$/);
    });
  }
});

test('policy commands accept the policy folder as --policies or as an argument', () => {
  const folders = (...argv: string[]) =>
    parseCommand(['policy', ...argv], { SIGNALBOX_POLICIES: 'env' }, policiesAt('shipped'));
  expect(folders('check')).toMatchObject({ folder: 'env', args: ['check'] });
  expect(folders('check', '--policies', 'mine', '--json')).toMatchObject({ folder: 'mine', args: ['check', '--json'] });
  expect(folders('explain', '--policies=mine')).toMatchObject({ folder: 'mine', args: ['explain'] });
  const learn = parse(['learn', 'reset', '--policies', 'mine', '--yes', '--data', 'there']);
  const place = { data: 'there', database: join('there', 'signalbox.db') };
  const folderFlags = ['--policies', '--data'];
  expect(learn).toMatchObject({ name: 'learn', folder: 'mine', folderFlags, ...place, args: ['reset', '--yes'] });
});

test('the log format comes from the flag, or else SIGNALBOX_LOG, or else depends on the output', () => {
  const formOf = (args: readonly string[], env: Environment = {}) => {
    const command = parse(['serve', ...args], env);
    return command.name === 'serve' && command.options.log;
  };
  expect(formOf([])).toBe('auto');
  expect(formOf([], { SIGNALBOX_LOG: 'off' })).toBe('off');
  expect(formOf([], { SIGNALBOX_LOG: '' })).toBe('auto');
  expect(formOf(['--log', 'pretty'], { SIGNALBOX_LOG: 'off' })).toBe('pretty');
});

test('help describes the named command, or all commands if none is named', () => {
  const help = (...argv: string[]) => {
    const command = parse(argv);
    return command.name === 'help'
      ? (helpOf(command.words).match(/^ {2}\.\/signalbox [a-z]+(?: [a-z]+)?/gm) ?? [])
      : null;
  };
  expect(help('policy', 'test', 'folder', '--help')).toEqual(['  ./signalbox policy test']);
  expect(help('help', 'plugin')?.every((usage) => usage.startsWith('  ./signalbox plugin'))).toBe(true);
  expect(help('help')?.length).toBeGreaterThan(20);
  expect(help('-h')).toEqual(help('sevre', '--help'));
  expect(help()).toEqual(help('help'));
});

test('help prints a line for each command, the usage of a group’s commands, and the full text of one command', () => {
  const help = (...argv: string[]) => {
    const command = parse(['help', ...argv]);
    return command.name === 'help' ? helpOf(command.words) : '';
  };
  expect(
    help()
      .split('\n')
      .filter((line) => /^ {2}\.\/signalbox [a-z ]+ {2}\S.*\.$/.test(line)),
  ).toHaveLength(Object.keys(HELP).length);
  expect(help('keys')).toContain('[--overlap 30d]');
  expect(help('keys')).not.toContain('The old secret works');
  for (const [command, { usage, details = DATA }] of Object.entries(HELP)) {
    const text = help(...command.split(' '));
    for (const line of [...usage.split('\n'), ...details.split('\n')]) expect(text).toContain(line);
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  }
});

test('every command has an example, and the usage of the command lists each flag of the example', () => {
  for (const [command, { usage, example = '' }] of Object.entries(HELP)) {
    expect(`${example} `).toStartWith(`${command} `);
    expect(() => parse(example.split(' '))).not.toThrow(/The commands of/);
    for (const [flag] of example.matchAll(/--[a-z-]+/g)) expect(usage).toContain(flag);
  }
});

test('one of several processes gets the options of its parent', () => {
  const env = { DATABASE_URL: 'postgres://a@localhost/b' };
  const words = ['serve', '--data', '/a', '--policies', '/b', '--credentials', '/c.yaml', '--policies-from', 'store'];
  const serve = (more: readonly string[]) => {
    const command = parse(more, env);
    return command.name === 'serve' ? command.options : null;
  };
  const parent = serve([...words, '--processes', '2', '--metrics', 'off', '--log', 'json', '--allow-policy-writes'])!;
  const child = serve(processArguments(parent, 1));
  expect(child).toEqual({ ...parent, processes: null, process: 1, data: expect.stringContaining('/a/') });
});
