import type { DiagnosticCode } from '../../src/policy/report/diagnostics.ts';
import type { Example } from './diagnostics-example.ts';

/** The examples of files that cannot be read as YAML. */
export const FILE_EXAMPLES: Partial<Record<DiagnosticCode, Example>> = {
  'file-too-large': { golden: 'file-too-large', mend: 'Split the file: all files of the folder form one policy.' },
  'unreadable-file': {
    golden: 'file-unreadable',
    mend: 'Give the user that runs Signalbox the right to read the file.',
  },
  'not-utf-8': { golden: 'file-not-utf-8', mend: 'Save the file as UTF-8.' },
  'line-break': { golden: 'line-break', mend: 'Save the file with LF or CRLF at the end of each line.' },
  'symlink-loop': { golden: 'file-symlink-loop', mend: 'Point the link at a file, or remove the link.' },
  'yaml-syntax': {
    golden: 'yaml-tab-indent',
    mend: 'Indent with spaces, close quotes, and put a space after each colon.',
    correction: ['\ttools_max', '  tools_max'],
  },
  'yaml-feature': {
    golden: 'yaml-merge-key',
    mend: 'Write the keys and values out.',
    correction: ['  <<: { tools_max: 1 }', '  tools_max: 1'],
  },
};
