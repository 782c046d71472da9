/** The path of a file that the program carries with it. */
declare module '*.bin' {
  const path: string;
  export default path;
}
