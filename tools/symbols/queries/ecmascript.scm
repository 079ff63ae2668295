[(function_declaration name: (identifier) @name) (generator_function_declaration name: (identifier) @name)] @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
(program [(lexical_declaration (variable_declarator name: (identifier) @name) @variable)
          (variable_declaration (variable_declarator name: (identifier) @name) @variable)
          (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @variable))])
