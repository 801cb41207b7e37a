{{ union_models(['fct_views', 'fct_holds']) }}
