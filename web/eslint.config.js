import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules/"] },
  {
    files: ["src/**/*.{ts,tsx}"],
    extends: [tseslint.configs.strict],
    plugins: { "react-hooks": hooks },
    rules: {
      "react-hooks/rules-of-hooks": "error",
      "@typescript-eslint/no-non-null-assertion": "off", // indices into typed arrays are known to be there
    },
  },
  {
    files: ["tests/**/*.mjs"],
    extends: [tseslint.configs.recommended],
  },
);
