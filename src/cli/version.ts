import type { CommandDefinition } from './command.ts';

/** `signalbox version` */
export const version: CommandDefinition = {
  usesData: false,
  use: 'to report a problem.',
  example: 'version',
  usage: '',
  summary: 'Print the version and the commit.',
  details: '',
  run: (_, { version }) => `${version}\n`,
};
