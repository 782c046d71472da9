import type { Kind } from './kind.ts';

export const embed: Kind = {
  bit: 1 << 1,
  means: 'turns texts into vectors',
  serves: 'embeddings',
  answer: 'embeddings',
  input: 'texts',
  isInChat: true,
};
