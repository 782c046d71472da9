/** Commands that need a data folder. */
export const DATA_COMMANDS = [
  ['keys', 'list'],
  ['ledger', 'status'],
  ['trail', 'list'],
  ['decisions', 'list'],
  ['db', 'status'],
  ['restart'],
  ['serve', '--port', '0'],
];
