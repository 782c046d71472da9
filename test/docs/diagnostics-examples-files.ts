import type { DiagnosticCode } from '../../src/policy/diagnostics.ts';
import type { Example } from './diagnostics-example.ts';

/** The examples of files that cannot be read as YAML. */
export const FILE_EXAMPLES: Partial<Record<DiagnosticCode, Example>> = {
  'file-too-large': { golden: 'file-too-large', mend: 'Split it: all files of the folder are one policy.' },
  'unreadable-file': { golden: 'file-unreadable', mend: 'Let the user that runs Signalbox read it.' },
  'not-utf-8': { golden: 'file-not-utf-8', mend: 'Save it as UTF-8.' },
  'line-break': { golden: 'line-break', mend: 'Save the file with LF or CRLF at the end of each line.' },
  'symlink-loop': { golden: 'file-symlink-loop', mend: 'Point it at a file, or remove it.' },
  'yaml-syntax': {
    golden: 'yaml-tab-indent',
    mend: 'Indent with spaces, close quotes, and put a space after each colon.',
    correction: ['\ttools_max', '  tools_max'],
  },
  'yaml-feature': {
    golden: 'yaml-merge-key',
    mend: 'Write the keys out.',
    correction: ['  <<: { tools_max: 1 }', '  tools_max: 1'],
  },
};
