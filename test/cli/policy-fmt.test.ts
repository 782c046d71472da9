import { afterAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openFiles } from '../../src/operate/policy/policy-files.ts';
import { replaceFile } from '../../src/runtime/replace-file.ts';
import { runHere } from '../support/run-here.ts';
import { PROGRAM, runToEnd, temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** `signalbox policy fmt` as an operator has it: files and folders, their comments, and what is no YAML. */
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function policy(files: Readonly<Record<string, string>>): string {
  const folder = writePolicy(files);
  folders.push(folder);
  return folder;
}

const UGLY = `version:   1  # the language
credits: {usd_per_credit:   0.0010}   # one Credit
providers:
    openai:
        # the name of a variable
        api_key_env:   'OPENAI_API_KEY'
`;
const NEAT = `version: 1 # the language
credits: { usd_per_credit: 0.0010 } # one Credit
providers:
  openai:
    # the name of a variable
    api_key_env: "OPENAI_API_KEY"
`;
const DAMAGED = `models: {
  tags: [], # why there are none
  price: 1.00 }
`;

describe('signalbox policy fmt', () => {
  test('formats what it can, in place, and tells of what it cannot', async () => {
    const files = {
      'a.yaml': UGLY,
      'b.yml': NEAT,
      'c.yaml': 'a: [1\nb: 2\n',
      'd.yaml': DAMAGED,
      'e.yaml': UGLY.replaceAll('\n', '\r\n'),
      '.hidden.yaml': UGLY,
      'notes.md': UGLY,
    };
    const folder = policy(files);
    chmodSync(join(folder, 'a.yaml'), 0o640);
    const { code, out } = await runHere(['policy', 'fmt', folder]);
    expect(code).toBe(2);
    expect(out).toContain(`${folder}/c.yaml:1:4  yaml-syntax  `);
    expect(out).toContain(
      `${folder}/d.yaml:2:13  formatting would change the place of a comment, so the file is unchanged`,
    );
    expect(out).toContain(`formatted ${folder}/a.yaml\nformatted ${folder}/e.yaml\n`);
    expect(out).toEndWith('\n5 files: 2 formatted, 2 unchanged because of problems\n');
    const after = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
    expect(Object.fromEntries(after)).toEqual({ ...files, 'a.yaml': NEAT, 'e.yaml': NEAT });
    expect(statSync(join(folder, 'a.yaml')).mode & 0o777).toBe(0o640);
  });

  test('formats the others beside a name that leads to no file', async () => {
    const folder = policy({ 'a.yaml': UGLY });
    symlinkSync('nowhere', join(folder, 'b.yaml'));
    mkdirSync(join(folder, 'c.yaml'));
    const { code, out, err } = await runHere(['policy', 'fmt', folder]);
    expect({ code, err }).toEqual({ code: 2, err: '' });
    expect(out).toMatch(/b\.yaml:1:1 {2}unreadable-file .*: it does not exist\n/);
    expect(out).toMatch(/c\.yaml:1:1 {2}unreadable-file .*: it is a folder\n/);
    expect(out).toEndWith('\n3 files: 1 formatted, 2 unchanged because of problems\n');
    expect(readFileSync(join(folder, 'a.yaml'), 'utf8')).toBe(NEAT);
  });

  test('--check changes nothing, and shows what it would change without any secret', async () => {
    const secret = 'correct-horse-battery-staple-4711';
    const ugly = `${UGLY}# the key is ${secret}\ntags:   [ ${secret} ]\n`;
    const folder = policy({ 'a.yaml': ugly, 'b.yaml': NEAT });
    const env = { OPENAI_API_KEY: secret };
    const { code, out } = await runHere(['policy', 'fmt', '--check', '--policies', folder], env);
    expect(code).toBe(2);
    expect(out).toStartWith(`${folder}/a.yaml would change\n  @@ -1 +1 @@\n  -version:   1  # the language\n`);
    expect(out).toContain('\n  +version: 1 # the language\n');
    expect(out).toEndWith('\n\n2 files: 1 would change\n');
    expect(out).not.toContain('horse');
    expect(readFileSync(join(folder, 'a.yaml'), 'utf8')).toBe(ugly);
    const places = [join(folder, 'b.yaml'), folder];
    const json = await runHere(['policy', 'fmt', '--check', '--json', ...places], env);
    expect(json.code).toBe(2);
    expect(JSON.parse(json.out)).toEqual({
      errors: 0,
      warnings: 0,
      diagnostics: [],
      files: [join(folder, 'b.yaml'), join(folder, 'a.yaml')],
      would_change: [join(folder, 'a.yaml')],
      refused: [],
    });
  });

  test('- formats the standard input, and writes nothing else', async () => {
    const piped = (text: string) =>
      runToEnd(['sh', '-c', 'printf %s "$1" | "$2" policy fmt -', 'sh', text, PROGRAM], {});
    const [good, bad, check] = await Promise.all([
      piped(UGLY),
      runHere(['policy', 'fmt', '-'], {}, 'a: [1\n'),
      runHere(['policy', 'fmt', '-', '--check'], {}, NEAT),
    ]);
    expect(good).toEqual({ code: 0, out: NEAT, err: '' });
    expect(bad).toMatchObject({ code: 1, out: '' });
    expect(bad.err).toStartWith('signalbox: standard input:1:4  yaml-syntax  ');
    expect(check).toEqual({ code: 0, out: '', err: '' });
  });

  test('says in a sentence what it cannot run for', async () => {
    const folder = policy({ 'a.yaml': NEAT });
    const empty = temporaryFolder();
    folders.push(empty);
    const notes = join(folder, 'notes.md');
    writeFileSync(notes, NEAT);
    const cases: readonly (readonly [readonly string[], string])[] = [
      [[join(folder, 'no.yaml')], `${join(folder, 'no.yaml')} cannot be read: it does not exist.`],
      [[notes], `${notes} is neither a folder nor a .yaml file.`],
      [[empty], `${empty} holds no .yaml files.`],
      [['-', folder], 'policy fmt takes either - or folders and files.'],
    ];
    await Promise.all(
      cases.map(async ([args, message]) => {
        const told = await runHere(['policy', 'fmt', ...args]);
        expect(told).toEqual({ code: 1, out: '', err: `signalbox: ${message}\n` });
      }),
    );
  });
});

describe('replacing a file', () => {
  test('follows a link as Kubernetes has them, and leaves the link', async () => {
    const folder = policy({ 'a.yaml': UGLY });
    const mount = policy({});
    symlinkSync(folder, join(mount, '..data'));
    symlinkSync('..data/a.yaml', join(mount, 'a.yaml'));
    const [opened] = await openFiles([mount]);
    await replaceFile(opened!.path, NEAT, opened!.text);
    expect(lstatSync(join(mount, 'a.yaml')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, 'a.yaml'), 'utf8')).toBe(NEAT);
    expect([readdirSync(mount).sort(), readdirSync(folder)]).toEqual([['..data', 'a.yaml'], ['a.yaml']]);
  });

  test('shows readers the old text or the new one, never half of either', async () => {
    const path = join(policy({ 'a.yaml': '' }), 'a.yaml');
    const texts = ['a', 'b'].map((sign) => sign.repeat(200_000));
    writeFileSync(path, texts[0]!);
    const seen = new Set<string>();
    let writing = true;
    const reading = (async () => {
      while (writing) seen.add(await readFile(path, 'utf8'));
    })();
    for (let i = 1; i <= 40; i++) {
      const [opened] = await openFiles([path]);
      await replaceFile(opened!.path, texts[i % 2]!, opened!.text);
    }
    writing = false;
    await reading;
    expect([...seen].filter((text) => !texts.includes(text)).map(({ length }) => length)).toEqual([]);
    expect(seen.size).toBe(2);
  });

  test('takes away what was left beside it by a process that was killed, and nothing that is being written', async () => {
    const folder = policy({
      'a.yaml': UGLY,
      '.a.yaml.17.tmp': 'old',
      '.a.yaml.18.tmp': 'new',
      '.ab.yaml.17.tmp': 'other',
    });
    for (const name of ['.a.yaml.17.tmp', '.ab.yaml.17.tmp']) utimesSync(join(folder, name), 1, 1);
    await replaceFile(join(folder, 'a.yaml'), NEAT);
    expect(readdirSync(folder).sort()).toEqual(['.a.yaml.18.tmp', '.ab.yaml.17.tmp', 'a.yaml']);
  });

  test('leaves a file with another name as it is: the other name would keep the old text', async () => {
    const folder = policy({ 'a.yaml': UGLY });
    linkSync(join(folder, 'a.yaml'), join(folder, 'b.yaml'));
    await expect(replaceFile(join(folder, 'a.yaml'), NEAT)).rejects.toThrow('it has a hard link');
    expect(readFileSync(join(folder, 'a.yaml'), 'utf8')).toBe(UGLY);
  });

  test('does not undo what somebody else wrote meanwhile, and leaves nothing behind', async () => {
    const folder = policy({ 'a.yaml': UGLY });
    const [opened] = await openFiles([folder]);
    writeFileSync(join(folder, 'a.yaml'), 'version: 2\n');
    await expect(replaceFile(opened!.path, NEAT, opened!.text)).rejects.toThrow(
      'a.yaml cannot be written: it was changed during formatting.',
    );
    expect(readFileSync(join(folder, 'a.yaml'), 'utf8')).toBe('version: 2\n');
    expect(readdirSync(folder)).toEqual(['a.yaml']);
  });
});
