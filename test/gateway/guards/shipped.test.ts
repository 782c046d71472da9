import { describe, expect, test } from 'bun:test';
import { language } from '../../../plugins/guards/language.ts';
import { personalData } from '../../../plugins/guards/personal-data.ts';
import { secrets } from '../../../plugins/guards/secrets.ts';
import { size } from '../../../plugins/guards/size.ts';
import { words } from '../../../plugins/guards/words.ts';
import type { GuardTextKind, PreparedGuard } from '../../../src/contract/guard.ts';
import { finished } from '../../../src/contract/guard-steps.ts';

/** Returns the found texts with their kinds. */
function foundIn(guard: PreparedGuard, text: string, kind: GuardTextKind = 'text'): string[] {
  const found = guard.check({ side: 'input', texts: [{ text, role: 'user', kind }] });
  if (found instanceof Promise) throw new Error('a shipped guard returned a promise');
  return finished(found).map((match) => `${match.kind}: ${match.at ? text.slice(match.at.from, match.at.to) : '*'}`);
}

const COUNTRIES = ['be', 'br', 'de', 'es', 'fr', 'gb', 'it', 'nl', 'pl', 'se', 'us'] as const;

describe('personal-data', () => {
  const guard = personalData.prepare({
    kinds: ['email', 'phone', 'card', 'iban', 'national'],
    countries: [...COUNTRIES],
  });

  test.each([
    ['Write to ada@example.com, please.', 'email: ada@example.com'],
    ['My card is 4111 1111 1111 1111.', 'card: 4111 1111 1111 1111'],
    ['Pay to DE89 3704 0044 0532 0130 00.', 'iban: DE89 3704 0044 0532 0130 00'],
    ['Call +49 30 901820.', 'phone: +49 30 901820'],
    ['It is 85.07.30-033.28.', 'national-be: 85.07.30-033.28'],
    ['CPF 529.982.247-25', 'national-br: 529.982.247-25'],
    ['Meine Steuer-ID: 86095742719', 'national-de: 86095742719'],
    ['DNI 12345678Z', 'national-es: 12345678Z'],
    ['NIR 2 55 08 14 168 025 38', 'national-fr: 2 55 08 14 168 025 38'],
    ['NI number AB 12 34 56 C', 'national-gb: AB 12 34 56 C'],
    ['CF RSSMRA85T10A562S', 'national-it: RSSMRA85T10A562S'],
    ['BSN 111222333', 'national-nl: 111222333'],
    ['PESEL 44051401359', 'national-pl: 44051401359'],
    ['personnummer 811218-9876', 'national-se: 811218-9876'],
    ['SSN 123-45-6789', 'national-us: 123-45-6789'],
    ['My card is 4111\u00a01111\u00a01111\u00a01111.', 'card: 4111\u00a01111\u00a01111\u00a01111'],
    ['My card is 4111\u202f1111\u202f1111\u202f1111.', 'card: 4111\u202f1111\u202f1111\u202f1111'],
    ['My card is 4111\u20111111\u20111111\u20111111.', 'card: 4111\u20111111\u20111111\u20111111'],
    [
      'Pay to DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000.',
      'iban: DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000',
    ],
    ['Call +49\u202f30\u202f901820.', 'phone: +49\u202f30\u202f901820'],
    [
      'NIR 2\u00a055\u00a008\u00a014\u00a0168\u00a0025\u00a038',
      'national-fr: 2\u00a055\u00a008\u00a014\u00a0168\u00a0025\u00a038',
    ],
    ['SSN 123\u00a045\u00a06789', 'national-us: 123\u00a045\u00a06789'],
  ])('finds %j', (text, expected) => {
    expect(foundIn(guard, text)).toEqual([expected]);
  });

  test.each([
    'Version 3.14.159 of 2026-10-07 at 10:15.',
    'My card is 4111 1111 1111 1112.',
    'Pay to DE89 3704 0044 0532 0130 01.',
    'CPF 529.982.247-26',
    'DNI 12345678A',
    'CF RSSMRA85T10A562T',
    'personnummer 811218-9877',
    'SSN 666-45-6789',
    'Order 86095742719 has arrived.',
    'The ID is 111222333.',
  ])('finds nothing in %j', (text) => {
    expect(foundIn(guard, text)).toEqual([]);
  });

  test('finds only the chosen kinds and countries', () => {
    const some = personalData.prepare({ kinds: ['national'], countries: ['us'] });
    expect(foundIn(some, 'ada@example.com 123-45-6789 12345678Z')).toEqual(['national-us: 123-45-6789']);
  });
});

describe('secrets', () => {
  const guard = secrets.prepare({ entropy: false });

  test.each([
    ['key AKIAIOSFODNN7EXAMPLE', 'api-key: AKIAIOSFODNN7EXAMPLE'],
    ['sk-ant-REDACTED', 'api-key: sk-ant-REDACTED'],
    ['ghp_0123456789abcdefABCDEF0123456789abcd', 'api-key: ghp_0123456789abcdefABCDEF0123456789abcd'],
    ['xoxb-123456789012-abcdefABCDEF', 'api-key: xoxb-123456789012-abcdefABCDEF'],
    ['postgres://app:hunter22@db.example/app', 'password: hunter22'],
    ['DB_PASSWORD="Tr0ub4dor&3"', 'password: Tr0ub4dor&3'],
    ['"client_secret": "a1B2c3D4e5"', 'password: a1B2c3D4e5'],
    [
      '-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAbCd=\n-----END RSA PRIVATE KEY-----',
      'private-key: -----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAbCd=\n-----END RSA PRIVATE KEY-----',
    ],
    [
      'k:\n    -----BEGIN PRIVATE KEY-----\n    MIIEow\n    -----END PRIVATE KEY-----\n',
      'private-key: -----BEGIN PRIVATE KEY-----\n    MIIEow\n    -----END PRIVATE KEY-----',
    ],
    [
      '-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\nlQOY+\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----.',
      'private-key: -----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\nlQOY+\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----',
    ],
    [
      '> -----BEGIN PRIVATE KEY-----\n> MIIEow\n> -----END PRIVATE KEY-----',
      'private-key: -----BEGIN PRIVATE KEY-----\n> MIIEow\n> -----END PRIVATE KEY-----',
    ],
    ['"-----BEGIN PRIVATE KEY-----\\nMIIEow\\n"', 'private-key: -----BEGIN PRIVATE KEY-----\\nMIIEow'],
  ])('finds %j', (text, expected) => {
    expect(foundIn(guard, text)).toEqual([expected]);
  });

  test.each([
    'The password is required.',
    'const token = undefined;',
    'password: string',
    'commit 9f2c01d4aa07e6b39f2c01d4aa07e6b39f2c01d4',
    'https://example.com/task-list-of-today',
    'token: $TOKEN',
  ])('finds nothing in %j', (text) => {
    expect(foundIn(guard, text)).toEqual([]);
  });

  test('finds random texts only if the policy wants it', () => {
    const random = 'value Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0L';
    expect(foundIn(guard, random)).toEqual([]);
    expect(foundIn(secrets.prepare({ entropy: true }), random)).toEqual([`random-text: ${random.slice(6)}`]);
    expect(foundIn(secrets.prepare({ entropy: true }), 'some/long/path/to/a/file/of/the/project')).toEqual([]);
  });
});

describe('words', () => {
  const guard = words.prepare({
    deny: ['falcon', 'project x', 'größe'],
    patterns: ['(?i)case-[0-9]+'],
    allow: ['falcon heavy'],
    case_sensitive: false,
    longest_match: 64,
  });

  test.each([
    ['The Falcon flies.', ['word: Falcon']],
    ['PROJECT X and falcon', ['word: PROJECT X', 'word: falcon']],
    ['CASE-12', ['pattern: CASE-12']],
    ['Die GRÖSSE und die Größe.', ['word: Größe']],
    ['falcons, and a falcon heavy', []],
    ['afalcon', []],
  ])('finds in %j the words %j', (text, expected) => {
    expect(foundIn(guard, text)).toEqual(expected);
  });

  test.each([
    [{ deny: [], patterns: [] }, 'at least one'],
    [{ deny: [], patterns: ['(a)\\1'] }, 'not valid'],
    [{ deny: [], patterns: ['(?=a)'] }, 'not valid'],
  ])('refuses the settings %j', (settings, why) => {
    expect(() => words.prepare({ allow: [], case_sensitive: false, longest_match: 64, ...settings })).toThrow(why);
  });
});

test('size finds texts that are too long together', () => {
  const guard = size.prepare({ characters: 10 });
  expect(foundIn(guard, '1234567890')).toEqual([]);
  expect(foundIn(guard, '12345678901')).toEqual(['too-long: *']);
});

test('language finds messages in other scripts, and no names, code or short texts', () => {
  const guard = language.prepare({ scripts: ['latin'], share: 0.3, letters: 20 });
  expect(foundIn(guard, 'Привет, как у вас дела сегодня утром?')).toEqual(['other-script: *']);
  expect(foundIn(guard, 'What does the word привет mean, and who says it?')).toEqual([]);
  expect(foundIn(guard, 'Привет!')).toEqual([]);
  expect(foundIn(guard, 'Привет, как у вас дела сегодня утром?', 'name')).toEqual([]);
  const short = language.prepare({ scripts: ['latin'], share: 0.3, letters: 1 });
  expect(foundIn(short, 'Привет!')).toEqual(['other-script: *']);
  const both = language.prepare({ scripts: ['latin', 'cyrillic'], share: 0.3, letters: 20 });
  expect(foundIn(both, 'Привет, как у вас дела сегодня утром?')).toEqual([]);
});
