import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./styles/mantine.css";
import "./styles/tokens.css";
import "./styles/frame.css";
import "./styles/parts.css";
import { queryClient } from "./api/queries.ts";
import { redirectOldLink } from "./old-links.ts";
import { router } from "./router.tsx";

redirectOldLink();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
