import type { Kind } from './kind.ts';

export const chat: Kind = {
  bit: 1 << 0,
  means: 'answers a conversation',
  serves: 'chat',
  answer: 'a chat completion',
  input: 'conversation',
  isInChat: true,
};
