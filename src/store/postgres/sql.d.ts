/** Statements in a file of their own, as text. */
declare module '*.sql' {
  const text: string;
  export default text;
}
