import { aws } from './aws.ts';
import { command } from './command.ts';
import { entra } from './entra.ts';
import { google } from './google.ts';
import type { SourceKind } from './source.ts';

/** All kinds of token sources. */
export const SOURCES: readonly SourceKind[] = [aws, google, entra, command];
