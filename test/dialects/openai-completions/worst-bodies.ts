import { type Bodies, list, members } from '../../holes/worst/requests.ts';

const asks = (prompt: unknown, rest: object = {}) => ({ model: 'auto', prompt, max_tokens: 16, ...rest });

export const BODIES: Bodies = {
  'a long prompt': (parts) => asks('x y. '.repeat(parts)),
  'a long prompt in a list': (parts) => asks(['x y. '.repeat(parts)]),
  'a prompt of many lines': (parts) => asks(list(parts, (at) => `def f${at}():`).join('\n')),
  'a long suffix': (parts) => asks('x', { suffix: 'é中'.repeat(parts) }),
  'unknown fields': (parts) =>
    asks(
      'x',
      members(parts, () => 1),
    ),
  metadata: (parts) => asks('x', { metadata: members(parts, () => 'x') }),
};
