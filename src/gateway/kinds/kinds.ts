import type { Operation } from '../../core/kinds/operations.ts';
import { chat } from './chat.ts';
import { embed } from './embed.ts';
import type { KindOfCall } from './kind.ts';

/** How the gateway carries out each operation. */
export const KINDS: Readonly<Record<Operation, KindOfCall>> = { chat, embed };
